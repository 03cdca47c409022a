"""HLO programs: their text, instructions and data flow, their memory and relayouts, a census, and advice."""
