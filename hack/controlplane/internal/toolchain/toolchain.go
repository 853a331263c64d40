// SPDX-License-Identifier: Apache-2.0

package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/cache"
)

// program is one binary: where it is built and from what.
type program struct {
	name      string
	component string
	pkg       string
	ldflags   string
}

// Toolchain is the set of programs that one checkout pins.
type Toolchain struct {
	Versions   Versions
	components string
	bin        string
	programs   []program
}

// Locate reads the pins of the checkout around start and works out where the
// programs belong in the cache. It builds nothing.
func Locate(start string) (*Toolchain, error) {
	root, err := FindRoot(start)
	if err != nil {
		return nil, err
	}
	components := filepath.Join(root, "hack", "components")
	versions, err := readVersions(components)
	if err != nil {
		return nil, err
	}
	folder, err := cache.Root()
	if err != nil {
		return nil, err
	}
	t := &Toolchain{Versions: versions, components: components, programs: programs(versions)}
	key, err := t.key()
	if err != nil {
		return nil, err
	}
	t.bin = filepath.Join(folder, "controlplane", key)
	return t, nil
}

// Bin is the folder that holds the programs once they are built.
func (t *Toolchain) Bin() string { return t.bin }

// Path is where the program of that name lies once it is built.
func (t *Toolchain) Path(name string) string { return filepath.Join(t.bin, name) }

func (t *Toolchain) missing() []program {
	var missing []program
	for _, p := range t.programs {
		info, err := os.Stat(t.Path(p.name))
		if err != nil || !info.Mode().IsRegular() {
			missing = append(missing, p)
		}
	}
	return missing
}

// key names the versions for people, and hashes all that decides the result.
func (t *Toolchain) key() (string, error) {
	sum := sha256.New()
	for _, component := range []string{"kubernetes", "etcd", "kwok"} {
		for _, file := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(t.components, component, file))
			if err != nil {
				return "", fmt.Errorf("hash the pinned modules: %w", err)
			}
			sum.Write(text)
		}
	}
	for _, p := range t.programs {
		fmt.Fprintln(sum, p.name, p.component, p.pkg, strings.Join(buildArgs(p, ""), " "))
	}
	return fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s_%s-%s_%s",
		t.Versions.Kubernetes, t.Versions.Etcd, t.Versions.KWOK,
		runtime.GOOS, runtime.GOARCH, hex.EncodeToString(sum.Sum(nil))[:10]), nil
}

// programs lists what to build, the quick ones first so that a broken setup
// shows soon. The linker stamps the version that `kubectl version` reports.
func programs(v Versions) []program {
	const plain = "-s -w"
	major, minor := majorMinor(v.Kubernetes)
	stamped := plain
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		stamped += fmt.Sprintf(
			" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
			pkg, v.Kubernetes, major, minor)
	}
	list := []program{{"etcd", "etcd", "go.etcd.io/etcd/server/v3", plain}}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"} {
		list = append(list, program{name, "kubernetes", "k8s.io/kubernetes/cmd/" + name, stamped})
	}
	return append(list, program{"kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", plain})
}

func majorMinor(version string) (string, string) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return version, ""
	}
	return parts[0], parts[1]
}

func buildArgs(p program, output string) []string {
	return []string{"build", "-ldflags", p.ldflags, "-o", output, p.pkg}
}
