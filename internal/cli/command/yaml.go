// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/pflag"
)

// The values of --yaml-reader.
const (
	fastReader    = "fast"
	libraryReader = "library"
)

// YAMLReader is the flag --yaml-reader.
type YAMLReader struct{ library bool }

// AddFlags adds the flag with its default.
func (r *YAMLReader) AddFlags(f *pflag.FlagSet) {
	f.Var(r, "yaml-reader", "what reads manifests: fast, or library, several times slower, to rule the fast one out")
}

// Library says that all is to be read by the library.
func (r *YAMLReader) Library() bool { return r.library }

// String is the value that is in force.
func (r *YAMLReader) String() string {
	if r.library {
		return libraryReader
	}
	return fastReader
}

// Set refuses what isn't known.
func (r *YAMLReader) Set(value string) error {
	if value != fastReader && value != libraryReader {
		return fmt.Errorf("give %s or %s", fastReader, libraryReader)
	}
	r.library = value == libraryReader
	return nil
}

// Type is shown in help.
func (*YAMLReader) Type() string { return "string" }
