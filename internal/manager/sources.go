// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

// off is the bind address of what isn't served.
const off = "0"

// sourceOptions are the flags of the manager that concern PolicySources.
type sourceOptions struct {
	namespaces      []string
	concurrent      int
	dir             string
	receiverAddress string
	receiverCertDir string
	allowFiles      bool
}

func (o *sourceOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.namespaces, "source-namespaces", nil,
		`namespaces besides --namespace whose PolicySources are accepted; "*" accepts all. Anyone who may create one there controls the whole cluster`)
	f.IntVar(&o.concurrent, "concurrent-sources", 2, "Git repositories that are read at a time")
	f.StringVar(&o.dir, "source-dir", filepath.Join(os.TempDir(), "evenkeel-sources"),
		"a directory of this replica's own for what is read of Git repositories; it may be emptied at any time")
	f.BoolVar(&o.allowFiles, "source-allow-files", false, "take repositories of this machine too (file:///PATH); for "+
		"a manager on your own machine: anyone who may make a PolicySource could read what the manager can")
	f.StringVar(&o.receiverAddress, "receiver-bind-address", off,
		`where messages of a push are taken (/hook/NAMESPACE/NAME), for example ":9292"; "0" takes none`)
	f.StringVar(&o.receiverCertDir, "receiver-cert-dir", "",
		"a directory with tls.crt and tls.key for the receiver; without it, plain HTTP behind something that ends TLS")
}

func (o *sourceOptions) Validate() error {
	var errs []error
	if o.concurrent < 1 {
		errs = append(errs, errors.New("--concurrent-sources must be positive"))
	}
	if o.dir == "" {
		errs = append(errs, errors.New("--source-dir must not be empty"))
	}
	if _, _, err := net.SplitHostPort(o.receiverAddress); o.receiverAddress != off && err != nil {
		errs = append(errs, fmt.Errorf("--receiver-bind-address %q must be of the form [HOST]:PORT, or 0: %w",
			o.receiverAddress, err))
	}
	return errors.Join(errs...)
}
