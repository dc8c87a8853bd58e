"""Training: the loss, the schedule, the Lightning module and what it shows."""
