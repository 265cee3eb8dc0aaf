"""What a running Triton tells of itself: statistics, metrics, configurations, over HTTP."""
