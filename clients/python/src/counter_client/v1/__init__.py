"""Made by tools/generate_clients from proto/counter/v1. Do not edit."""
