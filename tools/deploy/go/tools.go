//go:build tools

// Package tools names the linters of tools/check_deploy, so that go.mod keeps them.
package tools

import (
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
