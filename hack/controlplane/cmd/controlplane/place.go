// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/toolchain"
)

// place says which instance a command is about.
type place struct {
	name string
	dir  string
}

func (p *place) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.name, "name", "default",
		"name of the instance; its folder is .local/<name> in the repository")
	cmd.Flags().StringVar(&p.dir, "dir", "", "folder of the instance, instead of --name")
}

// resolve returns the instance's folder.
func (p *place) resolve() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`).MatchString(p.name) {
		return "", fmt.Errorf("--name %q: use lower-case letters, digits and dashes", p.name)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	root, err := toolchain.FindRoot(here)
	if err != nil {
		return "", fmt.Errorf("%w, or give the instance's folder with --dir", err)
	}
	return filepath.Join(root, ".local", p.name), nil
}

func locateToolchain() (*toolchain.Toolchain, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working folder: %w", err)
	}
	return toolchain.Locate(here)
}
