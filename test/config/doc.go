// Package config proves the manifests in config/: every kustomization builds,
// the API server accepts what they make, and the rights are those that the
// comments promise. It must never apply anything to a cluster that it didn't
// start itself. Start at config_test.go.
package config
