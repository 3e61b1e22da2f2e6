"""What the conformance run is made of: real servers, proxies that break, stubs that answer as told."""
