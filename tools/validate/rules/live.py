"""What ``tandem doctor`` finds on a running server. Texts only: importing them costs nothing."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_STATISTICS = "Triton's statistics extension, read at both ends of the window."

NO_TRAFFIC = Rule(
    "D001",
    "no-traffic",
    Severity.WARNING,
    "No request ended in the window on any model that was watched, so nothing can be judged.",
    _STATISTICS,
    "Run the doctor again while the traffic that you ask about is running. If it was, read what "
    "clients are answered: requests that the server refuses before it queues them (HTTP 400, gRPC "
    "INVALID_ARGUMENT: a wrong shape, too many rows, no correlation id) are in no counter.",
)
IDLE_MODEL = Rule(
    "D002",
    "idle-model",
    Severity.NOTE,
    "This model had no traffic in the window, though others had; nothing is said about it.",
    _STATISTICS,
    "Nothing, or watch it while it has traffic; if clients do call it, read what they are "
    "answered, since requests that are refused before the queue are in no counter.",
)
NOT_ENOUGH_TRAFFIC = Rule(
    "D003",
    "not-enough-traffic",
    Severity.NOTE,
    "Too few requests ended in the window to tell why they were batched as they were.",
    _STATISTICS,
    "Watch for longer: raise --window-s.",
)
NOTHING_COMPLETES = Rule(
    "D004",
    "nothing-completes",
    Severity.WARNING,
    "Requests were waiting in every sample and none ended in the window.",
    "nv_inference_pending_request_count, sampled; counters move only when a request ends.",
    "Raise --window-s above the time of one execution; if still none ends, read the server's log.",
)
RELOADED = Rule(
    "D005",
    "reloaded",
    Severity.NOTE,
    "The model was loaded again in the window; only what came after that is judged.",
    "Its statistics went back, which a full reload does and an unchanged model never does.",
    "Run the doctor again when nothing is being loaded.",
)
SEQUENTIAL_CLIENT = Rule(
    "D101",
    "sequential-client",
    Severity.WARNING,
    "The client waits for each answer before it sends the next request. Two requests are never "
    "there at once, so there is nothing to merge.",
    "By Little's law request time divided by the window is the number in flight; it stays at or "
    "just below 1 in every part of the window, which independent arrivals do not do.",
    "Send several requests at a time: an asynchronous client, more threads, or larger requests.",
)
LIGHT_TRAFFIC = Rule(
    "D102",
    "light-traffic",
    Severity.NOTE,
    "Requests hardly overlap, so there is hardly anything to merge. That is not a fault.",
    "Request time divided by the window (Little's law).",
    "Nothing; batches grow by themselves when the load does.",
)
BATCHED_BY_CLIENT = Rule(
    "D103",
    "batched-by-client",
    Severity.NOTE,
    "Requests arrive with full batches already, so the server has nothing to add.",
    "Inferences divided by requests. Triton counts a request by its batch size.",
    "Nothing, if the size is meant; raise max_batch_size if larger batches still pay.",
)
REQUESTS_DO_NOT_FIT = Rule(
    "D104",
    "requests-do-not-fit",
    Severity.WARNING,
    "Requests carry more than half of max_batch_size, so two never fit into one batch.",
    "Inferences divided by requests. Triton never splits a request.",
    "Send requests of a divisor of max_batch_size, or raise max_batch_size to a multiple.",
)
TOO_FEW_CLIENTS = Rule(
    "D105",
    "too-few-clients",
    Severity.WARNING,
    "There are hardly more callers than instances. While each instance runs one request, there is "
    "never more than one waiting, so there is nothing to merge.",
    "Request time divided by the window (Little's law), steady in every part of it.",
    "Send more requests at a time: a batch of n takes n for each instance, and n that wait.",
)
NO_DYNAMIC_BATCHING = Rule(
    "D201",
    "no-dynamic-batching",
    Severity.ERROR,
    "Several requests at a time wait for a busy instance, and without dynamic_batching each runs "
    "alone.",
    "The configuration that the server reports; requests waiting and utilisation of the window. "
    "Source: core backend_model.cc, the default scheduler.",
    "Add dynamic_batching { } to the configuration of this stage.",
)
MAX_BATCH_SIZE_ONE = Rule(
    "D202",
    "max-batch-size-one",
    Severity.WARNING,
    "Several requests at a time wait for a busy instance, and max_batch_size of 0 or 1 lets each "
    "run alone.",
    "The configuration that the server reports; requests waiting and utilisation of the window.",
    "Export the model with a free first dimension and set max_batch_size to 2 or more.",
)
SHAPES_APART = Rule(
    "D203",
    "shapes-apart",
    Severity.WARNING,
    "Requests wait together and still run apart. An input has a dimension of -1 without "
    "allow_ragged_batch, so a request of another shape ends the batch.",
    "Requests for each execution against requests waiting. Source: core scheduler_utils.cc; the "
    "statistics show no shapes, so this is the one cause that the configuration leaves.",
    "Set allow_ragged_batch: true on that input if the backend takes it (Python and DALI do); "
    "otherwise bring inputs to one shape in the client.",
)
OPTIONAL_INPUTS_APART = Rule(
    "D204",
    "optional-inputs-apart",
    Severity.WARNING,
    "Requests wait together and still run apart. The model has optional inputs, and a request "
    "that carries others than the first one ends the batch.",
    "Requests for each execution against requests waiting. Source: core scheduler_utils.cc; the "
    "statistics show no inputs, so this is the one cause that the configuration leaves.",
    "Send the same set of inputs in every request, with a default value where there is none.",
)
MORE_INSTANCES_THAN_LOAD = Rule(
    "D205",
    "more-instances-than-load",
    Severity.WARNING,
    "There is a free instance for every request, so most start at once and alone.",
    "Request time divided by the window against instances; queue time next to nothing.",
    "Lower the count of instance_group, if executions of two take less than twice as long.",
)
ALTERNATING_COHORTS = Rule(
    "D206",
    "alternating-cohorts",
    Severity.WARNING,
    "The callers have split into two halves: one executes while the other waits, so batches are "
    "half as large as they could be. A delay of 0, or one too short, lets that happen.",
    "Mean batch near half of the requests in flight; the pending gauge steady at the other half; "
    "and the measured execution times say that whole batches would be faster.",
    "Set preferred_batch_size to the number of callers and max_queue_delay_microseconds to 2000 "
    "or twice the spread of their returns; not for callers that arrive independently.",
)
PREFERRED_CAPS_BATCH = Rule(
    "D207",
    "preferred-caps-batch",
    Severity.WARNING,
    "With a delay of 0 the largest preferred_batch_size is the largest batch, whatever "
    "max_batch_size says, and more requests than that were waiting.",
    "Batch sizes executed against requests in flight. "
    "Source: core dynamic_batch_scheduler.cc, GetDynamicBatch.",
    "Remove preferred_batch_size.",
)
UNEXPLAINED = Rule(
    "D208",
    "unexplained",
    Severity.NOTE,
    "Requests wait together and run apart, and none of the causes known here fits.",
    "Requests for each execution against requests waiting.",
    "Look for a custom batching library, a rate limiter, or a shape tensor; then ask its authors.",
)
EACH_RUNS_ALONE = Rule(
    "D209",
    "each-runs-alone",
    Severity.NOTE,
    "No two requests can share an execution: the stage has no dynamic_batching, or a "
    "max_batch_size of 0 or 1. Hardly ever did two wait together, so little is lost at this load.",
    "The configuration that the server reports; requests waiting in the window.",
    "Before the load grows, add dynamic_batching { } and a max_batch_size of 2 or more; without "
    "others that wait it changes nothing.",
)
DELAY_IN_VAIN = Rule(
    "D301",
    "delay-in-vain",
    Severity.WARNING,
    "Requests wait for max_queue_delay_microseconds beside an idle instance, and in that time none "
    "comes to join them: each is alone, or all were there when the delay began.",
    "Queue time near the delay, low utilisation; of several in a batch each waits nearly all of "
    "it, which independent arrivals do not, and it is longer than an execution. "
    "Source: core dynamic_batch_scheduler.cc: an idle instance does not end the delay.",
    "Set max_queue_delay_microseconds to 0: a busy instance lets a batch gather by itself. Where "
    "callers return together, put their number into preferred_batch_size instead, with a delay of "
    "2000; a batch that is full does not wait.",
)
PREFERRED_UNREACHED = Rule(
    "D302",
    "preferred-unreached",
    Severity.WARNING,
    "No batch reached the smallest preferred_batch_size, so each waited for the delay to run out.",
    "Batch sizes executed; queue time against the delay.",
    "Remove preferred_batch_size and set the delay to 0, or prefer a size that the load reaches.",
)
LATE_MODE_STALLS = Rule(
    "D401",
    "late-mode-stalls",
    Severity.WARNING,
    "Requests waited about half a second beside an idle instance. A queue policy or priority "
    "levels make Triton form batches late, and in that mode it can miss the wake-up.",
    "Gaps without any execution, after which requests ended that had queued for as long. "
    "Source: core payload.cc and rate_limiter.cc; seen on the live server, never without a policy.",
    "Remove max_queue_size, timeouts and priority_levels from this stage, or run two instances.",
)
TIMEOUT_NEVER_FIRES = Rule(
    "D402",
    "timeout-never-fires",
    Severity.WARNING,
    "allow_timeout_override stands beside a default_timeout_microseconds of 0, so the timeout of "
    "a request never applies; it only makes Triton form batches late.",
    "The configuration. Source: core scheduler_utils.cc: an override must be below the default.",
    "Set default_timeout_microseconds to the longest wait that is of use.",
)
TIMEOUTS_PER_STAGE = Rule(
    "D403",
    "timeouts-per-stage",
    Severity.NOTE,
    "The queue timeout starts again at each stage of the ensemble, and never bounds execution.",
    "The configuration. Source: core ensemble_scheduler.cc copies the timeout to every step.",
    "Hold the end-to-end deadline in the client; let the sum of the timeouts stay below it.",
)
QUEUE_FULL = Rule(
    "D404",
    "queue-full",
    Severity.WARNING,
    "The queue was full, so requests were refused. Triton has no counter for that on this model.",
    "The pending gauge at max_queue_size, failures of the ensemble that no stage counted, or the "
    "answers to the probe.",
    "Bound the requests in flight at the client or gateway, or use a queue timeout instead.",
)
REJECTS_NOT_COUNTED = Rule(
    "D405",
    "rejects-not-counted",
    Severity.NOTE,
    "max_queue_size is set. Requests that a full queue refuses are in no counter of the model, so "
    "a clean bill here does not mean that none were refused.",
    "Source: core infer_request.cc; seen on the live server.",
    "Count UNAVAILABLE (HTTP 503) answers at the client.",
)
DEAD_STUB = Rule(
    "D501",
    "dead-stub",
    Severity.ERROR,
    "The model says that it is ready, and a Python process of it is dead: every request that comes "
    "to that instance fails.",
    "All requests fail in the backend without an execution being counted, or an answer says so.",
    "Load the model again (Triton keeps the others), then read the log for what ended the process.",
)
EVERY_REQUEST_FAILS = Rule(
    "D502",
    "every-request-fails",
    Severity.ERROR,
    "The model says that it is ready, and every request of the window failed.",
    _STATISTICS,
    "Send one request by hand, or run the doctor with --probe 1, and read the error.",
)
SOME_REQUESTS_FAIL = Rule(
    "D503",
    "some-requests-fail",
    Severity.WARNING,
    "A share of the requests failed; failed executions blur the figures above.",
    "Statistics, and the reason that nv_inference_request_failure gives.",
    "Read the errors at the client or in the server's log; for REJECTED, compare the timeout with "
    "the time of an execution; for BACKEND on a Python model, run the doctor with --probe, "
    "best without other traffic: one of its processes may be dead, while the others go on.",
)
NOT_READY = Rule(
    "D504",
    "not-ready",
    Severity.ERROR,
    "The model is loaded and says that it is not ready.",
    "Its /ready answers something else than 200.",
    "Read the server's log; load the model again.",
)
PRIORITIES_UNDONE = Rule(
    "D601",
    "priorities-undone",
    Severity.WARNING,
    "The stages of the ensemble do not have the same priority_levels. A stage maps a level that "
    "it does not know to its default, so urgent requests queue behind others there.",
    "The configurations. Source: core infer_request.cc, SetPriority; seen on the live server.",
    "Give every stage of the ensemble the same priority_levels and default_priority_level.",
)
BOTTLENECK = Rule(
    "D602",
    "bottleneck",
    Severity.NOTE,
    "This stage of the ensemble holds requests the longest in its queue.",
    "Queue time of each stage; the ensemble itself has no queue.",
    "Give this stage what there is to give (batches, instances, device); the others can wait.",
)
