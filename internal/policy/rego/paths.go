// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
)

// paths moves the paths that a rule gives onto the judged object. Where the
// rule concerns Pods and the object is a workload, the rule speaks of input.pod,
// and the object holds that as its pod template.
type paths struct {
	// template is the JSON Pointer of the pod template; empty when paths are
	// those of the object itself.
	template string
	kind     policy.GroupKind
}

// violation moves a violation's path; an empty one means the whole object.
func (b paths) violation(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return b.pointer(path)
}

func (b paths) pointer(path string) (string, error) {
	if err := checkPointer(path); err != nil {
		return "", err
	}
	if b.template == "" {
		return path, nil
	}
	for _, absent := range []string{"/apiVersion", "/kind", "/status", "/metadata/name", "/metadata/namespace"} {
		if path == absent || strings.HasPrefix(path, absent+"/") {
			return "", fmt.Errorf("%q is a field of a Pod that the pod template of %s doesn't hold: only the "+
				"template's metadata and spec can be named", path, b.kind)
		}
	}
	return b.template + path, nil
}

// checkPointer holds a path to RFC 6901, short of the empty pointer: no rule may
// replace a whole object.
func checkPointer(path string) error {
	if path == "" {
		return errors.New("the path is empty: name a field of the object, for example /spec/replicas")
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q isn't a JSON Pointer: it must begin with \"/\", for example /spec/replicas", path)
	}
	for escaped := range slices.Values(strings.Split(path, "~")[1:]) {
		if !strings.HasPrefix(escaped, "0") && !strings.HasPrefix(escaped, "1") {
			return fmt.Errorf("%q isn't a JSON Pointer: write \"~\" within a key as ~0 and \"/\" as ~1", path)
		}
	}
	return nil
}
