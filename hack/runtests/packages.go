// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// packagesOf are the packages of a stage that is run for them alone, as go test takes them: a folder may be named
// without "./". It errs for a stage that isn't of packages, and for packages that need more than the stage has.
func packagesOf(chosen []stage, named []string) ([]string, error) {
	if len(named) == 0 {
		return nil, nil
	}
	if len(chosen) != 1 || chosen[0].name != "unit" {
		return nil, fmt.Errorf("packages %s: they can be named for the stage unit alone", strings.Join(named, " "))
	}
	var packages []string
	for _, name := range named {
		folder := strings.TrimPrefix(path.Clean(name), module)
		below := func(of string) bool { return folder == of || strings.HasPrefix(folder, of+"/") }
		if slices.ContainsFunc(clusterTests(), below) {
			return nil, fmt.Errorf("%s isn't of the stage unit: it needs a control plane, or takes long; make help "+
				"names its target", name)
		}
		packages = append(packages, "./"+folder)
	}
	return packages, nil
}
