"""From a view graph to poses: the network's forward pass, fine-tuning, and robust averaging of the raw poses."""
