// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layoutFolder is where the OCI layout lies within what is built.
const layoutFolder = "oci"

// refName is the annotation by which tools find a tag in an OCI layout.
const refName = "org.opencontainers.image.ref.name"

// release is what an image is made of.
type release struct {
	// name is the image's, without a tag; version is its tag.
	name, version string
	// revision is the commit that the programs come from.
	revision string
	// created is the time of every file and of the image.
	created  time.Time
	programs []program
}

// program is the compiled program of one platform.
type program struct {
	platform v1.Platform
	path     string
}

func parseProgram(arg string) (program, error) {
	platform, path, given := strings.Cut(arg, "=")
	parsed, err := v1.ParsePlatform(platform)
	if err != nil || !given || parsed.OS == "" || parsed.Architecture == "" {
		return program{}, fmt.Errorf("%q isn't OS/ARCH=PROGRAM, for example linux/amd64=bin/evenkeel", arg)
	}
	return program{platform: *parsed, path: path}, nil
}

// String is the platform in file names.
func (p program) String() string { return p.platform.OS + "_" + p.platform.Architecture }

// build makes the folder anew: an OCI layout of all platforms, and for each platform an
// archive for `docker load` and the bill of materials.
func build(folder string, r *release, out io.Writer) error {
	tag, err := name.NewTag(r.name + ":" + r.version)
	if err != nil {
		return fmt.Errorf("name the image: %w", err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("recreate %s: %w", folder, err)
	}
	at, err := layout.Write(filepath.Join(folder, layoutFolder), empty.Index)
	if err != nil {
		return fmt.Errorf("begin the layout: %w", err)
	}
	foundation, err := layer(foundation(), r.created)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var bills []v1.Image
	for _, p := range r.programs {
		img, bill, err := r.buildPlatform(p, foundation, filepath.Join(folder, "evenkeel_"+p.String()), tag)
		if err != nil {
			return fmt.Errorf("build the image for %s: %w", p.platform.String(), err)
		}
		index = mutate.AppendManifests(
			index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &p.platform}})
		bills = append(bills, bill)
		size, err := compressedSize(img)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %.1f MB to pull\n", p.platform.String(), float64(size)/1e6)
	}
	index = mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("work out the digest: %w", err)
	}
	if err := r.write(at, index, bills); err != nil {
		return err
	}
	fmt.Fprintf(out, "Built %s@%s in %s\n", tag, digest, folder)
	return nil
}

// write puts the image of all platforms into a layout, and what refers to it.
func (r *release) write(at layout.Path, index v1.ImageIndex, bills []v1.Image) error {
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: r.version})); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	for _, bill := range bills {
		if err := at.AppendImage(bill); err != nil {
			return fmt.Errorf("write a bill of materials into the layout: %w", err)
		}
	}
	return nil
}

// buildPlatform makes one platform's image, and its bill as an artifact that refers to
// it; beside the layout it writes both as files that begin with path.
func (r *release) buildPlatform(p program, foundation v1.Layer, path string, tag name.Tag) (
	img, bill v1.Image, err error) {
	if img, err = r.image(p, foundation); err != nil {
		return nil, nil, err
	}
	if err := tarball.WriteToFile(path+".tar", tag, img); err != nil {
		return nil, nil, fmt.Errorf("write the archive: %w", err)
	}
	text, err := imageBill(p.path, r.version)
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(path+".cdx.json", text, 0o644); err != nil {
		return nil, nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	bill, err = referTo(img, text)
	return img, bill, err
}

// image is the image for one platform.
func (r *release) image(p program, foundation v1.Layer) (v1.Image, error) {
	content, err := os.ReadFile(p.path)
	if err != nil {
		return nil, fmt.Errorf("read the program: %w", err)
	}
	programLayer, err := layer([]file{{name: entrypoint[1:], mode: 0o555, content: content}}, r.created)
	if err != nil {
		return nil, err
	}
	img, err := mutate.ConfigFile(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&v1.ConfigFile{
			Created: v1.Time{Time: r.created}, OS: p.platform.OS, Architecture: p.platform.Architecture,
			RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{User: user, WorkingDir: "/", Entrypoint: []string{entrypoint}, Labels: r.labels()},
		})
	if err != nil {
		return nil, fmt.Errorf("configure the image: %w", err)
	}
	history := func(what string) v1.History {
		return v1.History{Created: v1.Time{Time: r.created}, CreatedBy: "hack/image", Comment: what}
	}
	return mutate.Append(img, mutate.Addendum{Layer: foundation, History: history("authorities and users")},
		mutate.Addendum{Layer: programLayer, History: history("the program")})
}

// labels say what the image is, in the words of the OCI.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "evenkeel",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.revision,
		"org.opencontainers.image.created":  r.created.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// compressedSize is what somebody who pulls the image gets, in bytes.
func compressedSize(img v1.Image) (int64, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return 0, fmt.Errorf("work out the size: %w", err)
	}
	total := manifest.Config.Size
	for _, l := range manifest.Layers {
		total += l.Size
	}
	return total, nil
}

// billType is what a bill of materials in CycloneDX is to a registry.
const billType types.MediaType = "application/vnd.cyclonedx+json"

// referTo is a bill as an artifact that refers to the image: registries list it among
// the image's referrers.
func referTo(img v1.Image, text []byte) (v1.Image, error) {
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, fmt.Errorf("refer to the image: %w", err)
	}
	artifact, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), billLayer(text))
	if err != nil {
		return nil, fmt.Errorf("make an artifact of the bill: %w", err)
	}
	referrer, ok := mutate.Subject(mutate.ConfigMediaType(artifact, billType), *subject).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("refer to the image: what refers is no image but %T", referrer)
	}
	return referrer, nil
}
