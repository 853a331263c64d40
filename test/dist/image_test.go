package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/test/cluster"
)

// No image can be built where tests run, so what describes it is compared with the
// code, the manifests and the script that compiles.
func TestImageFilesAgree(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := func(path ...string) string { return string(read(t, filepath.Join(append([]string{root}, path...)...))) }
	dockerfile, script, deployment := file("Dockerfile"), file("hack", "build.sh"), file("config", "manager", "deployment.yaml")
	var ko struct {
		DefaultBaseImage string
		Builds           []struct {
			Main                string
			Env, Flags, Ldflags []string
		}
	}
	if err := yaml.Unmarshal([]byte(file(".ko.yaml")), &ko); err != nil {
		t.Fatal(err)
	}

	for about, holds := range map[string]bool{
		"the Dockerfile compiles with the Go of go.mod":           strings.Contains(file("go.mod"), "\ngo "+first(t, dockerfile, `(?m)^ARG BUILD_IMAGE=golang:(\d+\.\d+)$`)+"."),
		"the Dockerfile compiles by the script, which can be run": strings.Contains(dockerfile, "hack/build.sh /evenkeel ") && executable(t, filepath.Join(root, "hack", "build.sh")),
		"the image runs what was compiled":                        strings.Contains(dockerfile, "COPY --from=build /evenkeel /evenkeel\n") && strings.Contains(dockerfile, `ENTRYPOINT ["/evenkeel"]`),
		"the image's user is the one that the pod runs as":        first(t, dockerfile, `(?m)^USER (\d+):\d+$`) == first(t, deployment, `runAsUser: (\d+)`),
		"both images stand on the same base":                      strings.Contains(dockerfile, "ARG BASE_IMAGE="+ko.DefaultBaseImage+"\n") && strings.Contains(file("Makefile"), "BASE_IMAGE ?= "+ko.DefaultBaseImage+"##"),
		"the Dockerfile builds on nothing else":                   len(regexp.MustCompile(`(?m)^FROM (--platform=\$BUILDPLATFORM )?\$(BUILD|BASE)_IMAGE( |$)`).FindAllString(dockerfile, -1)) == strings.Count(dockerfile, "\nFROM "),
		"the Dockerfile asks for digests":                         strings.Contains(dockerfile, `RUN hack/pinned.sh "$UNPINNED" "$BUILD_IMAGE" "$BASE_IMAGE"`) && strings.Contains(dockerfile, "ARG UNPINNED=no\n"),
		"make image asks for a digest":                            strings.Contains(file("Makefile"), `hack/pinned.sh "$(UNPINNED)" "$(BASE_IMAGE)"`),
		"the pod leaves the program to the image":                 !strings.Contains(deployment, "command:"),
		"ko builds one program":                                   len(ko.Builds) == 1,
	} {
		if !holds {
			t.Errorf("it doesn't hold that %s", about)
		}
	}
	for _, flag := range append(ko.Builds[0].Flags, append(ko.Builds[0].Env, ko.Builds[0].Main)...) {
		if !strings.Contains(script, flag) {
			t.Errorf("ko builds with %s, and hack/build.sh doesn't", flag)
		}
	}
	stripped, stamped := "-s -w", "-X evenkeel.dev/evenkeel/internal/version.version="
	for _, flag := range []string{stripped, stamped} {
		if !strings.Contains(script, flag) || !strings.Contains(strings.Join(ko.Builds[0].Ldflags, " "), flag) {
			t.Errorf("hack/build.sh and ko don't both link with %s", flag)
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(dockerfile, -1) {
		for _, source := range strings.Fields(match[1]) {
			if _, err := os.Stat(filepath.Join(root, source)); err != nil {
				t.Errorf("the Dockerfile copies %s: %v", source, err)
			}
		}
	}
}

func TestAnImageIsBuiltOnDigestsUnlessSomebodySaysOtherwise(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	const tag = "registry.example.com/base:1"
	digest := tag + "@sha256:" + strings.Repeat("0a", 32)
	cases := map[string]struct {
		args []string
		want bool
		says string
	}{
		"by digest":                         {[]string{"no", digest, digest}, true, ""},
		"one of them by tag":                {[]string{"no", digest, tag}, false, "imagetools inspect " + tag},
		"by a digest that breaks off":       {[]string{"no", digest[:len(digest)-1]}, false, "isn't named by digest"},
		"by tag, and somebody doesn't mind": {[]string{"yes", tag}, true, tag + " is taken as its registry has it today"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(filepath.Join(root, "hack", "pinned.sh"), tc.args...).CombinedOutput()
			if (err == nil) != tc.want || !strings.Contains(string(out), tc.says) {
				t.Errorf("got %v and %q", err, out)
			}
		})
	}
}

// first is the first group of the pattern's first match.
func first(t *testing.T, text, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	return match[1]
}

func executable(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()&0o111 != 0
}
