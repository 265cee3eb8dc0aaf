"""Stand-ins for what tests must not depend on."""
