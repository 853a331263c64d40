package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// version is stamped by the linker: -X main.version=v0.1.0.
var version = ""

// buildVersion tells what a program was built from. All of it is the same for each
// build of one commit.
type buildVersion struct {
	// Version is the release's name.
	Version string `json:"version"`
	// Commit is the full hash, and Date when it was made, in RFC 3339. Both are
	// empty in a build from an archive. Modified says that there were changes on top.
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	// GoVersion is the compiler's, and Platform is OS/ARCH.
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what it was built from",
		Long: `Version prints the version of this program, the commit and date that it was built
from, and the Go version and platform that it was built for.`,
		Example: "  evenkeel version\n  evenkeel version -o json",
		Args:    takesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := writeVersion(cmd.OutOrStdout(), output, readVersion())
			if err != nil {
				return wronglyCalled(cmd, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	cmd.SetFlagErrorFunc(wronglyCalled)
	return cmd
}

// writeVersion errs when the format isn't known.
func writeVersion(out io.Writer, format string, v buildVersion) error {
	var text []byte
	var err error
	switch format {
	case "text":
		text = v.text()
	case "json":
		text, err = json.MarshalIndent(v, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(v)
	default:
		err = fmt.Errorf("--output %q: give text, json or yaml", format)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func (v buildVersion) text() []byte {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with changes"
	}
	date := v.Date
	if date == "" {
		date = "unknown"
	}
	return fmt.Appendf(nil, "Version:  %s\nCommit:   %s\nDate:     %s\nGo:       %s %s\n", v.Version, commit, date, v.GoVersion, v.Platform)
}

// readVersion is what the linker and the Go toolchain stamped.
func readVersion() buildVersion {
	v := buildVersion{Version: versionString(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.time":
			v.Date = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

// versionString is the stamped version, or what the Go toolchain knows.
func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}
