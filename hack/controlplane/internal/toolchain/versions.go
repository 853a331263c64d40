// SPDX-License-Identifier: Apache-2.0

package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

const rootModule = "evenkeel.dev/evenkeel"

// Versions are the pinned releases, as the go.mod files below hack/components say.
type Versions struct {
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	KWOK       string `json:"kwok"`
}

// FindRoot walks up from start to the folder whose go.mod is Evenkeel's own.
func FindRoot(start string) (string, error) {
	module := regexp.MustCompile(`(?m)^module\s+` + regexp.QuoteMeta(rootModule) + `\s*$`)
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the repository root: %w", err)
		}
		if module.Match(text) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of module %s in %s or above it: run this inside a clone of the repository",
				rootModule, start)
		}
	}
}

func readVersions(components string) (Versions, error) {
	var versions Versions
	for _, pin := range []struct {
		folder, module string
		into           *string
	}{
		{"kubernetes", "k8s.io/kubernetes", &versions.Kubernetes},
		{"etcd", "go.etcd.io/etcd/server/v3", &versions.Etcd},
		{"kwok", "sigs.k8s.io/kwok", &versions.KWOK},
	} {
		path := filepath.Join(components, pin.folder, "go.mod")
		text, err := os.ReadFile(path)
		if err != nil {
			return Versions{}, fmt.Errorf("read the version of %s: %w", pin.module, err)
		}
		require := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(pin.module) + `\s+(v\S+)`)
		match := require.FindSubmatch(text)
		if match == nil {
			return Versions{}, fmt.Errorf("%s: no require line for %s: add one with the version to build", path,
				pin.module)
		}
		*pin.into = string(match[1])
	}
	return versions, nil
}
