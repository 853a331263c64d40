// SPDX-License-Identifier: Apache-2.0

package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGinkgo behaves as the name of its suite says, and passes otherwise.
const fakeGinkgo = `#!/bin/sh
for arg; do
  case $arg in
  --output-dir=*) dir=${arg#*=} ;;
  --junit-report=*) report=${arg#*=} ;;
  ./test/*) suite=${arg#./test/} ;;
  esac
done
case $suite in
crashes) exit 2 ;;
image) exit 0 ;;
killed) kill -KILL "$(cut -d' ' -f5 /proc/$$/stat)" && exit 0 ;;
fails)
  echo '<testcase name="[It] works"><failure message="no"></failure></testcase>' >"$dir/$report"
  exit 1
  ;;
esac
echo '<testcase name="[It] works"></testcase>' >"$dir/$report"
`

func TestStagesThatProveNothingFail(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		lists  []string
		// want is the last line.
		want string
	}{
		"passes":         {"Lists add up.", []string{"fine", "good,well"}, "3 passed, 0 failed, 0 skipped"},
		"fails":          {"A failure fails the run.", []string{"fails,fine"}, "1 passed, 1 failed, 0 skipped"},
		"crashes":        {"No report, but an exit code.", []string{"crashes,fine"}, "1 passed, 1 failed, 0 skipped"},
		"runs no test":   {"No report counts as a failure.", []string{"image,fine"}, "1 passed, 1 failed, 0 skipped"},
		"is tried again": {"Only a pass is kept.", []string{"image-if-changed"}, "0 passed, 1 failed, 0 skipped"},
		"list is killed": {"The rest has no row.", []string{"fine", "killed,well"}, "1 passed, 1 failed, 0 skipped"},
		"only list dies": {"There is no row at all.", []string{"killed"}, "0 passed, 1 failed, 0 skipped"},
		"has no package": {"gotestsum may pass without tests.", []string{"sources"}, "0 passed, 1 failed, 0 skipped"},
	} {
		// All scripts are written before any process starts: one that is open for writing can't be run.
		checkout := script(t, "test.sh", map[string]string{"go": "#!/bin/sh\n", "ginkgo": fakeGinkgo,
			"gotestsum": "#!/bin/sh\n"})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			for range 2 { // the second run finds what the first has remembered
				cmd := exec.CommandContext(t.Context(), filepath.Join(checkout, "hack/test.sh"), tc.lists...)
				cmd.Env = append(os.Environ(), "PATH="+filepath.Join(checkout, "bin")+":"+os.Getenv("PATH"),
					"XDG_CACHE_HOME="+cache, "SEED=1", "FLAGS=", "PKG=")
				out, err := cmd.CombinedOutput()
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				if last := lines[len(lines)-1]; last != tc.want {
					t.Errorf("%s The last line is %q, want %q:\n%s", tc.reason, last, tc.want, out)
				}
				if passes := strings.Contains(tc.want, " 0 failed"); passes != (err == nil) {
					t.Errorf("%s It ends with %v:\n%s", tc.reason, err, out)
				}
			}
		})
	}
}
