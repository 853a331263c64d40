// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime"
	"runtime/debug"
)

// version is stamped by the linker: -X evenkeel.dev/evenkeel/internal/version.version=v0.1.0.
var version = ""

// Build tells what a program was built from. All of it is the same for each
// build of one commit.
type Build struct {
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

// Read is what the linker and the Go toolchain stamped.
func Read() Build {
	v := Build{Version: String(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// String is the stamped version, or what the Go toolchain knows.
func String() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}
