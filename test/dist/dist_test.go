// SPDX-License-Identifier: Apache-2.0

package dist

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/test/cluster"
)

const version = "v0.0.1-test"

func TestRelease(t *testing.T) {
	first, second := clone(t), clone(t)
	out := filepath.Join(t.TempDir(), "release")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	run(t, first, filepath.Join(first, "hack", "dist.sh"), out, version, "example.com/evenkeel", platform)
	name := "evenkeel_" + runtime.GOOS + "_" + runtime.GOARCH
	program := filepath.Join(out, name)

	t.Run("is the same byte for byte when it is built in another folder", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "again")
		run(t, second, filepath.Join(second, "hack", "build.sh"), again, version)
		if !bytes.Equal(read(t, program), read(t, again)) {
			t.Error("two builds of one commit differ")
		}
		if bytes.Contains(read(t, program), []byte(first)) {
			t.Errorf("the program tells where it was built: %s", first)
		}
	})
	t.Run("tells what it was built from", func(t *testing.T) {
		var told struct{ Version, Commit, Date, GoVersion, Platform string }
		if err := json.Unmarshal(run(t, out, program, "version", "-o", "json"), &told); err != nil {
			t.Fatal(err)
		}
		commit := strings.TrimSpace(string(run(t, first, "git", "rev-parse", "HEAD")))
		if told.Version != version || told.Commit != commit || told.Date == "" || told.GoVersion != runtime.Version() ||
			told.Platform != platform {
			t.Errorf("it tells %+v, want version %s, commit %s, %s", told, version, commit, platform)
		}
	})
	t.Run("has checksums of all its files", func(t *testing.T) {
		run(t, out, "sha256sum", "--check", "--strict", "SHA256SUMS")
		for _, file := range []string{name, name + ".cdx.json", "install.yaml", "install-self-signed.yaml"} {
			if !bytes.Contains(read(t, filepath.Join(out, "SHA256SUMS")), []byte("  "+file+"\n")) {
				t.Errorf("SHA256SUMS lacks %s", file)
			}
		}
	})
	t.Run("has a bill of the modules that are in it", func(t *testing.T) { bill(t, program+".cdx.json") })
	t.Run("has manifests that name its image", func(t *testing.T) {
		for _, file := range []string{"install.yaml", "install-self-signed.yaml"} {
			if !bytes.Contains(read(t, filepath.Join(out, file)), []byte("image: example.com/evenkeel:"+version+"\n")) {
				t.Errorf("%s doesn't run example.com/evenkeel:%s", file, version)
			}
		}
	})
}

func bill(t *testing.T, path string) {
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(read(t, path), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.Metadata.Component.Name != "evenkeel.dev/evenkeel" ||
		bom.Metadata.Component.Version != version {
		t.Errorf("it's a bill of %+v", bom.Metadata.Component)
	}
	missing := map[string]bool{"std": true, "github.com/open-policy-agent/opa": true, "k8s.io/client-go": true,
		"sigs.k8s.io/controller-runtime": true}
	for _, c := range bom.Components {
		delete(missing, c.Name)
		if c.Version == "" || c.Purl != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("component %+v", c)
		}
	}
	if len(missing) > 0 {
		t.Errorf("it lacks %v", missing)
	}
}

// clone is a checkout of the last commit in a folder of its own.
func clone(t *testing.T) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "checkout")
	run(t, root, "git", "clone", "--quiet", "--shared", root, dir)
	return dir
}

// run runs a program in a folder, and returns what it printed.
func run(t *testing.T, dir, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=true")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	return out
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
