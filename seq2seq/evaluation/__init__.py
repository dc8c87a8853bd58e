"""From text to scores and pictures: numbers come in as strings and arrays, never as a model."""
