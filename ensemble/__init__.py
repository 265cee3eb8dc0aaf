"""The contract between the stages: tensors, transform, errors, profiles, configuration."""
