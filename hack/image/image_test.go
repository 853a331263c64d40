// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built builds an image of two platforms, whose programs are this test's own, and returns
// its digest and folder.
func built(t *testing.T, version string) (digest, folder string) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "image")
	var out bytes.Buffer
	err = run(t.Context(), []string{"build", "--out", folder, "--name", "example.com/evenkeel", "--version", version,
		"--created", "1700000000", "--revision", "0123abcd", "linux/amd64=" + own, "linux/arm64=" + own}, &out)
	if err != nil {
		t.Fatal(err)
	}
	_, digest, _ = strings.Cut(strings.Fields(out.String()[strings.Index(out.String(), "Built "):])[1], "@")
	return digest, folder
}

func TestTheSameProgramsMakeTheSameImageAndAWholeOne(t *testing.T) {
	first, one := built(t, "v1")
	time.Local = time.FixedZone("elsewhere", 3600)
	t.Cleanup(func() { time.Local = time.UTC })
	second, other := built(t, "v1")
	if first != second {
		t.Errorf("two builds have the digests %s and %s", first, second)
	}
	for _, file := range []string{"evenkeel_linux_amd64.tar", "evenkeel_linux_arm64.tar",
		"evenkeel_linux_amd64.cdx.json", "oci/index.json"} {
		if !bytes.Equal(content(t, one, file), content(t, other, file)) {
			t.Errorf("two builds have different files %s", file)
		}
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(one, layoutFolder))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

func TestARegistryTakesTheImageAndItsBills(t *testing.T) {
	server := httptest.NewServer(
		registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	digest, folder := built(t, "v1")
	tag := strings.TrimPrefix(server.URL, "http://") + "/team/evenkeel:v1"
	if err := run(t.Context(), []string{"push", folder, tag}, io.Discard); err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got.String() != digest {
		t.Errorf("the registry has %s (%v), want %s", got, err, digest)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
		bills, err := remote.Referrers(reference.Digest(d.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		found, err := bills.IndexManifest()
		if err != nil || len(found.Manifests) != 1 || found.Manifests[0].ArtifactType != string(billType) {
			t.Errorf("%+v refer to the image for %s (%v), want its bill of materials", found, d.Platform, err)
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("the registry has %v, want %v", platforms, want)
	}
}

func TestAuthoritiesAreThoseThatNeedNoCondition(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities()) {
		t.Fatal("there is no authority")
	}
	if got := bytes.Count(authorities(), []byte("BEGIN CERTIFICATE")); got < 80 {
		t.Errorf("%d authorities, want those of Mozilla", got)
	}
}

func TestWhatIsAskedForIsChecked(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":         nil,
		"another command": {"pull"},
		"no program":      {"build", "--out", "x", "--name", "y", "--version", "z"},
		"no platform":     {"build", "--out", "x", "--name", "y", "--version", "z", "evenkeel"},
		"no program by name": {"build", "--out", filepath.Join(t.TempDir(), "x"), "--name", "y", "--version", "z",
			"linux/amd64=" + filepath.Join(t.TempDir(), "none")},
		"no image":      {"push", t.TempDir(), "example.com/evenkeel:v1"},
		"no registry":   {"push", t.TempDir(), "evenkeel:v1"},
		"no Go program": {"sbom", "main.go", "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), args, io.Discard); err == nil {
				t.Error("it doesn't say what is wrong")
			}
		})
	}
}

func content(t *testing.T, folder, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
