"""Every rule by its code. Texts only: importing them costs nothing."""
