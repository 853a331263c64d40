// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends what was built to a registry: the image by its tag, and the bills of
// materials as its referrers. Who it is to the registry stands where `docker login` or
// `podman login` has left it.
func push(ctx context.Context, folder, image string, out io.Writer) error {
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return fmt.Errorf(
			"name the image with its registry and tag, for example registry.example.com/evenkeel:v1.0.0: %w", err)
	}
	top, err := layout.ImageIndexFromPath(filepath.Join(folder, layoutFolder))
	if err != nil {
		return fmt.Errorf("read what was built: %w: build it first", err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return fmt.Errorf("read what was built: %w", err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, d := range manifest.Manifests {
		if d.MediaType.IsIndex() {
			index, err := top.ImageIndex(d.Digest)
			if err != nil {
				return fmt.Errorf("read the image: %w", err)
			}
			if err := remote.WriteIndex(tag, index, options...); err != nil {
				return fmt.Errorf("push the image: %w", err)
			}
			fmt.Fprintf(out, "Pushed %s@%s\n", tag, d.Digest)
			continue
		}
		bill, err := top.Image(d.Digest)
		if err != nil {
			return fmt.Errorf("read a bill of materials: %w", err)
		}
		if err := remote.Write(tag.Digest(d.Digest.String()), bill, options...); err != nil {
			return fmt.Errorf("push a bill of materials: %w", err)
		}
	}
	return nil
}
