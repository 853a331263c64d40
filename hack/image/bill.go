// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
)

// authoritiesModule is where the authorities in the image come from.
const authoritiesModule = "golang.org/x/crypto/x509roots/fallback"

// writeBill writes what a Go program was built from as a bill of materials in
// CycloneDX: the modules that the linker recorded in it, and no others. The same
// program gives the same text.
func writeBill(path, version string, out io.Writer, besides ...cdx.Component) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read what %s was built from: %w", path, err)
	}
	encoder := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.Encode(bill(info, version, besides...)); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

// imageBill is the bill of an image: of its program and of the authorities.
func imageBill(path, version string) ([]byte, error) {
	own, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, errors.New("this program doesn't know what it was built from: build it by the go command")
	}
	for _, dep := range own.Deps {
		if dep.Path == authoritiesModule {
			var text bytes.Buffer
			used := replaced(dep)
			err := writeBill(path, version, &text, module(cdx.ComponentTypeData, used.Path, used.Version))
			return text.Bytes(), err
		}
	}
	return nil, fmt.Errorf("this program doesn't know its version of %s: build it by the go command", authoritiesModule)
}

// bill has no serial number and no time of its own: those would differ each time.
func bill(info *buildinfo.BuildInfo, version string, besides ...cdx.Component) *cdx.BOM {
	main := module(cdx.ComponentTypeApplication, info.Main.Path, version)
	var components []cdx.Component
	var refs []string
	add := func(c cdx.Component) {
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	add(module(cdx.ComponentTypeLibrary, "std", info.GoVersion))
	for _, dep := range info.Deps {
		used := replaced(dep)
		add(module(cdx.ComponentTypeLibrary, used.Path, used.Version))
	}
	for _, c := range besides {
		add(c)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

// replaced is the module whose code was compiled.
func replaced(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

func module(sort cdx.ComponentType, path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: url, Type: sort, Name: path, Version: version, PackageURL: url}
}

// billLayer is a bill as a blob of a registry.
func billLayer(text []byte) v1.Layer { return static.NewLayer(text, billType) }
