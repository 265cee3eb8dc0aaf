"""What each batching profile does to Triton's batcher, measured with models that sleep."""
