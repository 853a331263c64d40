// SPDX-License-Identifier: Apache-2.0

// Command weigh says what each direct dependency takes in a program: its own code and data, and
// with all that comes into the program through it alone, which is what would go with it. It sums
// the sizes of symbols, so that what has none isn't counted: line tables, the names of types,
// relocations. So the sum is less than the file.
//
// Usage: weigh PROGRAM PACKAGE; the program must have its symbol table, and PACKAGE is what it was built of.
package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// imported is a package as the go command lists it.
type imported struct {
	ImportPath string
	Imports    []string
	Module     *struct {
		Path           string
		Main, Indirect bool
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("give the path of a program and the package that it was built of")
	}
	packages, err := listed(args[1])
	if err != nil {
		return err
	}
	symbols, err := symbolsOf(args[0])
	if err != nil {
		return err
	}
	sizes, total := map[string]uint64{}, uint64(0)
	for _, s := range symbols {
		sizes[packageOf(s.Name)] += s.Size
		total += s.Size
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "KB\tWITH WHAT ONLY IT BRINGS\tDEPENDENCY\t")
	for _, w := range weights(packages, sizes) {
		fmt.Fprintf(table, "%d\t%d\t%s\t\n", w.own>>10, w.all>>10, w.module)
	}
	fmt.Fprintf(table, "%d\t\tall symbols of the program\t\n", total>>10)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}

// listed are all packages of a program.
func listed(pkg string) (map[string]imported, error) {
	text, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Module", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", pkg, err)
	}
	found := map[string]imported{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p imported
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the packages of %s: %w", pkg, err)
		}
		found[p.ImportPath] = p
	}
}

func symbolsOf(program string) ([]elf.Symbol, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", program, err)
	}
	defer func() { _ = file.Close() }()
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read the symbols of %s: build it without -ldflags=-s: %w", program, err)
	}
	return stored(symbols, file.Sections), nil
}

// stored are the symbols that take room in the file, each place of it once.
func stored(symbols []elf.Symbol, sections []*elf.Section) []elf.Symbol {
	type place struct{ value, size uint64 }
	seen := map[place]bool{}
	return slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		at := place{s.Value, s.Size}
		if int(s.Section) >= len(sections) || sections[s.Section].Type == elf.SHT_NOBITS || seen[at] {
			return true // undefined, memory that begins as zeros, or another name of the same
		}
		seen[at] = true
		return false
	})
}

// packageOf is the package of a symbol, as it is imported: example.com/a/b of "example.com/a/b.(*T).Do".
func packageOf(symbol string) string {
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "type:.namedata.", "type:", "go:itab.", "go:struct.",
		"*"} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}
	head, _, _ := strings.Cut(symbol, "[") // what a generic one is made of
	slash := strings.LastIndexByte(head, '/')
	if dot := strings.IndexByte(head[slash+1:], '.'); dot >= 0 {
		head = head[:slash+1+dot]
	}
	return strings.ReplaceAll(head, "%2e", ".")
}

type weight struct {
	module   string
	own, all uint64
}

// weights are those of the direct dependencies, the heaviest first.
func weights(packages map[string]imported, sizes map[string]uint64) []weight {
	byModule := map[string][]string{}
	for path, p := range packages {
		if p.Module != nil && !p.Module.Main && !p.Module.Indirect {
			byModule[p.Module.Path] = append(byModule[p.Module.Path], path)
		}
	}
	var found []weight
	for module, own := range byModule {
		w := weight{module: module}
		for _, path := range own {
			w.own += sizes[path]
		}
		kept := reached(packages, module)
		for path := range packages {
			if !kept[path] {
				w.all += sizes[path]
			}
		}
		found = append(found, w)
	}
	slices.SortFunc(found, func(a, b weight) int {
		return cmp.Or(cmp.Compare(b.all, a.all), strings.Compare(a.module, b.module))
	})
	return found
}

// reached are the packages that our own ones still import, directly or not, without those of a module.
func reached(packages map[string]imported, without string) map[string]bool {
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p, known := packages[path]
		if seen[path] || !known || p.Module != nil && p.Module.Path == without {
			return
		}
		seen[path] = true
		for _, next := range p.Imports {
			visit(next)
		}
	}
	for path, p := range packages {
		if p.Module != nil && p.Module.Main {
			visit(path)
		}
	}
	return seen
}
