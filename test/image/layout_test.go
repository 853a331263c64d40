// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// descriptor is how an OCI layout names a blob.
type descriptor struct {
	MediaType    string
	ArtifactType string
	Digest       string
	Size         int
	Platform     struct{ OS, Architecture string }
	Annotations  map[string]string
}

// manifest is an index or an image of an OCI layout.
type manifest struct {
	Manifests []descriptor
	Config    descriptor
	Layers    []descriptor
	Subject   *descriptor
}

// image is one platform's.
type image struct {
	digest string
	config struct {
		Architecture, OS string
		Config           struct {
			User       string
			Entrypoint []string
			Env        []string
			Labels     map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	entries []entry
}

// entry is a file or folder of an image.
type entry struct {
	*tar.Header
	content []byte
}

const layoutFolder = "oci"

// topIndex is the first page of the layout.
func topIndex() manifest {
	GinkgoHelper()
	var top manifest
	raw, err := os.ReadFile(filepath.Join(built, layoutFolder, "index.json"))
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(raw, &top)).To(Succeed())
	return top
}

// blob is what a descriptor names, with its digest and size checked.
func blob(d descriptor) []byte {
	GinkgoHelper()
	algorithm, sum, _ := strings.Cut(d.Digest, ":")
	raw, err := os.ReadFile(filepath.Join(built, layoutFolder, "blobs", algorithm, sum))
	Expect(err).NotTo(HaveOccurred())
	Expect(raw).To(HaveLen(d.Size))
	Expect(digest(raw)).To(Equal(d.Digest))
	return raw
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// readImage reads a platform's image out of the layout.
func readImage(platform string) *image {
	GinkgoHelper()
	top := topIndex()
	Expect(top.Manifests[0].Annotations).To(HaveKeyWithValue("org.opencontainers.image.ref.name", version))
	var index, page manifest
	Expect(json.Unmarshal(blob(top.Manifests[0]), &index)).To(Succeed())
	found := &image{}
	for _, d := range index.Manifests {
		if d.Platform.OS+"/"+d.Platform.Architecture == platform {
			found.digest = d.Digest
			Expect(json.Unmarshal(blob(d), &page)).To(Succeed())
		}
	}
	Expect(found.digest).NotTo(BeEmpty(), "no image for %s", platform)
	Expect(json.Unmarshal(blob(page.Config), &found.config)).To(Succeed())
	Expect(found.config.RootFS.DiffIDs).To(HaveLen(len(page.Layers)))
	for i, layer := range page.Layers {
		Expect(layer.MediaType).To(Equal("application/vnd.oci.image.layer.v1.tar+gzip"))
		unzipped, err := gzip.NewReader(bytes.NewReader(blob(layer)))
		Expect(err).NotTo(HaveOccurred())
		packed, err := io.ReadAll(unzipped)
		Expect(err).NotTo(HaveOccurred())
		Expect(digest(packed)).To(Equal(found.config.RootFS.DiffIDs[i]))
		found.add(packed)
	}
	return found
}

func (i *image) add(packed []byte) {
	GinkgoHelper()
	reader := tar.NewReader(bytes.NewReader(packed))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(reader)
		Expect(err).NotTo(HaveOccurred())
		i.entries = append(i.entries, entry{header, content})
	}
}

// unpack writes the root file system, as a container runtime would.
func (i *image) unpack(dir string) {
	GinkgoHelper()
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	for _, e := range i.entries {
		path := filepath.Join(dir, e.Name)
		if e.Typeflag == tar.TypeDir {
			Expect(os.MkdirAll(path, 0o755)).To(Succeed())
		} else {
			Expect(os.WriteFile(path, e.content, 0o600)).To(Succeed())
		}
		Expect(os.Chmod(path, e.FileInfo().Mode())).To(Succeed())
	}
}

// file is the content of a file of the image.
func (i *image) file(name string) []byte {
	GinkgoHelper()
	for _, e := range i.entries {
		if e.Name == name {
			return e.content
		}
	}
	Fail(fmt.Sprintf("the image has no %s", name))
	return nil
}
