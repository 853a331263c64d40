package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The output formats of commands that read a cluster.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
	outputName  = "name"
)

// output is how a command prints what it found.
type output struct {
	format  string
	formats []string
}

// takesOutput gives a command the flag -o, for the table and the formats named.
func takesOutput(cmd *cobra.Command, formats ...string) *output {
	o := &output{formats: append([]string{outputTable}, formats...)}
	cmd.Flags().StringVarP(&o.format, "output", "o", outputTable, "one of "+strings.Join(o.formats, ", "))
	completesWith(cmd, "output", o.formats...)
	return o
}

// check refuses a format that isn't known.
func (o *output) check(cmd *cobra.Command) error {
	if slices.Contains(o.formats, o.format) {
		return nil
	}
	return wronglyCalled(cmd, fmt.Errorf("-o %q isn't known: give one of %s", o.format, strings.Join(o.formats, ", ")))
}

// objects prints API objects, one or a list; the table is drawn by its function.
func (o *output) objects(out io.Writer, object runtime.Object, table func(io.Writer) error) error {
	var printer printers.ResourcePrinter
	switch o.format {
	case outputTable:
		return table(out)
	case outputName:
		printer = &printers.NamePrinter{}
	default:
		var err error
		if printer, err = genericclioptions.NewJSONYamlPrintFlags().ToPrinter(o.format); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if err := setKinds(object); err != nil {
		return err
	}
	if o.format == outputName && meta.IsListType(object) {
		// The printer of names takes no list.
		return meta.EachListItem(object, func(item runtime.Object) error { return printer.PrintObj(item, out) })
	}
	return printer.PrintObj(object, out)
}

// setKinds fills in the kinds that a typed client leaves out.
func setKinds(object runtime.Object) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	set := func(o runtime.Object) error {
		kinds, _, err := scheme.ObjectKinds(o)
		if err != nil {
			return err
		}
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		return nil
	}
	if meta.IsListType(object) {
		if err := meta.EachListItem(object, set); err != nil {
			return err
		}
	}
	return set(object)
}

// data prints what isn't an API object; the table is drawn by its function.
func (o *output) data(out io.Writer, value any, table func(io.Writer) error) error {
	var raw []byte
	var err error
	switch o.format {
	case outputJSON:
		raw, err = json.MarshalIndent(value, "", "    ")
		raw = append(raw, '\n')
	case outputYAML:
		raw, err = yaml.Marshal(value)
	default:
		return table(out)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(raw)
	return err
}

// columns begins a table as kubectl draws one.
func columns(out io.Writer, titles ...string) *tabwriter.Writer {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row(table, titles...)
	return table
}

func row(table *tabwriter.Writer, cells ...string) {
	fmt.Fprintln(table, strings.Join(cells, "\t"))
}
