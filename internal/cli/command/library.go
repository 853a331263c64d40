// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// RegoTree opens directories of policies in Rego, with the library of --lib.
type RegoTree struct {
	library string
}

// AddFlags adds the flag with its default.
func (t *RegoTree) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&t.library, "lib", "", "directory of the library that policies in Rego import (default: lib/ in "+
		"their directory, or else in the nearest above it)")
}

// Given says that a library was named.
func (t *RegoTree) Given() bool { return t.library != "" }

// Open finds a directory's tree. Its error is one of usage.
func (t *RegoTree) Open(dir string) (directory.Tree, error) {
	tree, err := directory.OpenWith(dir, t.library)
	if err != nil {
		return directory.Tree{}, Exit(ExitUsage, err)
	}
	return tree, nil
}
