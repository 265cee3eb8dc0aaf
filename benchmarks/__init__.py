"""Side-by-side measurements, and the records that they write."""
