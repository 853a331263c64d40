// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

// fakeApt stands in for apt-get: it notes the call, refuses to download until
// lists were got when STALE is set, and fails altogether when OFFLINE is set.
const fakeApt = `#!/bin/sh
echo "$*" >> "$CALLS"
[ -n "$OFFLINE" ] && { echo "E: no network" >&2; exit 100; }
case "$1" in
update) touch "$CALLS.updated";;
download)
	[ -n "$STALE" ] && [ ! -e "$CALLS.updated" ] && { echo "E: Unable to locate package" >&2; exit 100; }
	for last; do :; done
	echo "$last" > "${last}_1.0_all.deb";;
esac
`

// fakeDpkg stands in for dpkg-deb: it unpacks all but the program $LACKS.
const fakeDpkg = `#!/bin/sh
mkdir -p "$3/usr/bin"
case "$(cat "$2")" in
openssh-server) mkdir -p "$3/usr/sbin"
	printf '#!/bin/sh\ncat "$LD_LIBRARY_PATH"/libwrap0.so.0; echo "$LD_PRELOAD" "$@"\n' > "$3/usr/sbin/sshd"
	chmod +x "$3/usr/sbin/sshd"; exit;;
lib*) mkdir -p "$3/usr/lib/x/inner"
	echo library > "$3/usr/lib/x/inner/$(cat "$2").so.0.1"
	ln -s "$(cat "$2").so.0.1" "$3/usr/lib/x/inner/$(cat "$2").so.0"; exit;;
prometheus) names="prometheus promtool";;
bubblewrap) names="bwrap";;
*) names="prometheus-alertmanager amtool"
	mkdir -p "$3/usr/share/prometheus/alertmanager"
	echo template > "$3/usr/share/prometheus/alertmanager/default.tmpl";;
esac
for name in $names; do
	[ "$name" = "$LACKS" ] && continue
	printf '#!/bin/sh\ncat /usr/share/prometheus/alertmanager/default.tmpl; echo "$@"\n' > "$3/usr/bin/$name"
	chmod +x "$3/usr/bin/$name"
done
`

// machine is a machine with a fake apt and an empty cache.
func machine(t *testing.T) (tools *Tools, calls string) {
	t.Helper()
	path := t.TempDir()
	for name, text := range map[string]string{"apt-get": fakeApt, "dpkg-deb": fakeDpkg} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	calls = filepath.Join(t.TempDir(), "calls")
	t.Setenv("PATH", path+":/usr/bin:/bin")
	t.Setenv("CALLS", calls)
	t.Setenv("EVENKEEL_CACHE", t.TempDir())
	tools, err := Locate()
	if err != nil {
		t.Fatal(err)
	}
	return tools, calls
}

func quiet() *progress.Printer {
	return progress.New(&bytes.Buffer{}, func() time.Time { return time.Unix(0, 0) })
}

func requireAll(t *testing.T, tools *Tools) {
	t.Helper()
	for _, p := range Programs() {
		if _, err := os.Stat(tools.Path(p.Name)); err != nil {
			t.Errorf("%s wasn't fetched: %v", p.Name, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryProgramIsFetchedOnce(t *testing.T) {
	tools, calls := machine(t)
	if fetched, err := tools.Fetch(t.Context(), quiet()); !fetched || err != nil {
		t.Fatalf("an empty cache: fetched %v, error %v", fetched, err)
	}
	requireAll(t, tools)
	before := read(t, calls)
	if fetched, err := tools.Fetch(t.Context(), quiet()); fetched || err != nil {
		t.Errorf("a complete cache: fetched %v, error %v", fetched, err)
	}
	if after := read(t, calls); after != before {
		t.Errorf("a complete cache asked apt again: %s", after)
	}
	if _, err := os.Stat(filepath.Join(tools.dir, "work")); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

func TestAProgramFindsItsAssetsThoughNothingIsInstalled(t *testing.T) {
	tools, _ := machine(t)
	if _, err := tools.Fetch(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Path("prometheus-alertmanager"), "--flag=a b")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if want := "template\n--flag=a b\n"; err != nil || string(out) != want {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
	if len(assetsInstalled) != len(assetsRelocated) {
		t.Errorf("%q doesn't fit into the place of %q", assetsRelocated, assetsInstalled)
	}
}

func TestAProgramFindsItsLibrariesThoughNothingIsInstalled(t *testing.T) {
	tools, _ := machine(t)
	if _, err := tools.Fetch(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Path("sshd"), "-D")
	out, err := cmd.CombinedOutput()
	if want := "library\n -D\n"; err != nil || string(out) != want {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
}

func TestListsThatDontServeAreGotAnewInTheCache(t *testing.T) {
	tools, calls := machine(t)
	t.Setenv("STALE", "1")
	if _, err := tools.Fetch(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	requireAll(t, tools)
	for line := range strings.Lines(read(t, calls)) {
		if strings.HasPrefix(line, "update") && !strings.Contains(line, "Dir::State::lists="+tools.dir) {
			t.Errorf("apt-get %s would write the machine's own lists", line)
		}
	}
}

func TestWithoutANetworkTheErrorSaysWhatToDo(t *testing.T) {
	tools, _ := machine(t)
	t.Setenv("OFFLINE", "1")
	_, err := tools.Fetch(t.Context(), quiet())
	if err == nil || !strings.Contains(err.Error(), "E: no network") || !strings.Contains(err.Error(), "sources.list") {
		t.Errorf("got %v, want apt's words and what to check", err)
	}
}

func TestAPackageWithoutItsProgramIsAnError(t *testing.T) {
	tools, _ := machine(t)
	t.Setenv("LACKS", "amtool")
	_, err := tools.Fetch(t.Context(), quiet())
	if err == nil || !strings.Contains(err.Error(), "amtool") {
		t.Fatalf("got %v, want the program's name", err)
	}
	t.Setenv("LACKS", "")
	if _, err := tools.Fetch(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	requireAll(t, tools)
}

func TestWithoutAptAProgramOfThePathServes(t *testing.T) {
	tools, _ := machine(t)
	path := t.TempDir()
	t.Setenv("PATH", path)
	_, err := tools.Fetch(t.Context(), quiet())
	if err == nil || !strings.Contains(err.Error(), "no apt-get") {
		t.Fatalf("got %v, want what is missing", err)
	}
	for _, name := range []string{"prometheus", "promtool", "alertmanager", "amtool", "sshd", "bwrap"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("program"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tools.Fetch(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	requireAll(t, tools)
}

func TestTheReleaseNamesTheFolder(t *testing.T) {
	release := []byte("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n")
	if got := field(release, "ID") + "-" + field(release, "VERSION_ID"); got != "debian-12" {
		t.Errorf("got %q", got)
	}
	if got := field(nil, "ID"); got != "unknown" {
		t.Errorf("without a file: got %q", got)
	}
}
