// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
)

// The output formats of commands that read a cluster.
const (
	Table = "table"
	JSON  = "json"
	YAML  = "yaml"
	Name  = "name"
)

// Flag is how a command prints what it found.
type Flag struct {
	Format  string
	formats []string
}

// Takes gives a command the flag -o, for the table and the formats named.
func Takes(cmd *cobra.Command, formats ...string) *Flag {
	o := &Flag{formats: append([]string{Table}, formats...)}
	cmd.Flags().StringVarP(&o.Format, "output", "o", Table, "one of "+strings.Join(o.formats, ", "))
	command.CompletesWith(cmd, "output", o.formats...)
	return o
}

// Check refuses a format that isn't known.
func (o *Flag) Check(cmd *cobra.Command) error {
	if err := command.OneOf("-o", o.Format, o.formats...); err != nil {
		return command.WronglyCalled(cmd, err)
	}
	return nil
}

// Objects prints API objects, one or a list; the table is drawn by its function.
func (o *Flag) Objects(out io.Writer, object runtime.Object, table func(io.Writer) error) error {
	var printer printers.ResourcePrinter
	switch o.Format {
	case Table:
		return table(out)
	case Name:
		printer = &printers.NamePrinter{}
	default:
		var err error
		if printer, err = genericclioptions.NewJSONYamlPrintFlags().ToPrinter(o.Format); err != nil {
			return command.Exit(command.ExitUsage, err)
		}
	}
	if err := setKinds(object); err != nil {
		return err
	}
	if o.Format == Name && meta.IsListType(object) {
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

// Data prints what isn't an API object; the table is drawn by its function.
func (o *Flag) Data(out io.Writer, value any, table func(io.Writer) error) error {
	var raw []byte
	var err error
	switch o.Format {
	case JSON:
		raw, err = json.MarshalIndent(value, "", "    ")
		raw = append(raw, '\n')
	case YAML:
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

// Columns begins a table as kubectl draws one.
func Columns(out io.Writer, titles ...string) *tabwriter.Writer {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	Row(table, titles...)
	return table
}

// Row adds a row to a table.
func Row(table *tabwriter.Writer, cells ...string) {
	fmt.Fprintln(table, strings.Join(cells, "\t"))
}
