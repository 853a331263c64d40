// Package dist proves what is released: the same commit gives the same bytes
// wherever it is built, the checksums and bills of materials are right, and the
// files that describe the image agree with the code and the manifests. It builds
// the last commit, not what was changed since. Start at dist_test.go.
package dist
