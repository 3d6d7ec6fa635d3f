"""What users meet: operators, run, rolling."""
