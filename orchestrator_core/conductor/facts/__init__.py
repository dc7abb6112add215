"""What is known of values by dataflow: where their axes come from, and between what they lie."""
