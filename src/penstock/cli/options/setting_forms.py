"""What `--set` takes, in its help and in the sentence about a mistake alike."""

SETTING_FORMS = (
    "OPERATOR.replicas=N, OPERATOR.threads=N|elastic|elastic_operator|multilevel (with bounds: elastic:2-16; "
    "with settings: elastic:period_s=2), "
    "block_rows=N, micro_batch_tuples=N, unfused=OPERATOR,... or fusion=OPERATOR+OPERATOR,OPERATOR,... (the elements)"
)
