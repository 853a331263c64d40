// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// FindRoot is the top folder of the clone that the working folder lies in.
func FindRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	module := regexp.MustCompile(`(?m)^module evenkeel\.dev/evenkeel$`)
	for at := here; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && module.Match(text) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s lies in no clone of Evenkeel: %w: run `make demo` at the top of one", here,
				errors.ErrUnsupported)
		}
	}
}
