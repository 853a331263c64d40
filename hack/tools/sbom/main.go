// Command sbom writes what a Go program was built from as a bill of materials in
// CycloneDX: the modules that the linker recorded in it, and no others. The same
// program gives the same text.
//
// Usage: sbom PROGRAM VERSION >FILE
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("give the path of a program and its version")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read what %s was built from: %w", args[0], err)
	}
	encoder := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.Encode(bill(info, args[1])); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

// bill has no serial number and no time of its own: those would differ each time.
func bill(info *buildinfo.BuildInfo, version string) *cdx.BOM {
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
