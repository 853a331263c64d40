// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("For each platform, the image", func() {
	for _, platform := range platforms() {
		Context(platform, func() {
			var img *image

			BeforeEach(func() { img = images[platform] })

			It("holds a static program for that platform, and nothing else that runs", func() {
				program, err := elf.NewFile(bytes.NewReader(img.file("evenkeel")))
				Expect(err).NotTo(HaveOccurred())
				Expect(program.Machine).To(
					Equal(map[string]elf.Machine{
						"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}[platform]))
				for _, segment := range program.Progs {
					Expect(segment.Type).NotTo(Equal(elf.PT_INTERP), "it needs an interpreter")
				}
				for _, e := range img.entries {
					if e.Typeflag == tar.TypeReg && e.Mode&0o111 != 0 {
						Expect(e.Name).To(Equal("evenkeel"))
					}
				}
			})

			It("holds what is listed, root's, which nobody else may write", func() {
				var names []string
				for _, e := range img.entries {
					names = append(names, e.Name)
					Expect([]int{e.Uid, e.Gid}).To(Equal([]int{0, 0}), e.Name)
					Expect(e.Typeflag).To(BeElementOf(byte(tar.TypeReg), byte(tar.TypeDir)), e.Name)
					if e.Name != "tmp/" {
						Expect(e.Mode&0o7022).To(BeZero(), e.Name)
					}
				}
				Expect(names).To(Equal([]string{"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/",
					"etc/ssl/certs/ca-certificates.crt", "tmp/", "evenkeel"}))
			})

			It("trusts public authorities, whoever signs for Git servers among them", func() {
				pool := x509.NewCertPool()
				text := img.file("etc/ssl/certs/ca-certificates.crt")
				Expect(pool.AppendCertsFromPEM(text)).To(BeTrue())
				Expect(strings.Count(string(text), "BEGIN CERTIFICATE")).To(BeNumerically(">", 80))
			})

			It("runs as the manifests' user, and says what it is", func() {
				Expect(img.config.Config.User).To(Equal("65532:65532"))
				Expect(img.config.Config.Entrypoint).To(Equal([]string{"/evenkeel"}))
				Expect(img.config.OS + "/" + img.config.Architecture).To(Equal(platform))
				Expect(img.config.Config.Labels).To(HaveKeyWithValue("org.opencontainers.image.version", version))
			})

			It("comes with an archive of the same image, and a bill of materials that refers to it", func() {
				path := filepath.Join(built, "evenkeel_"+strings.ReplaceAll(platform, "/", "_"))
				Expect(archived(path + ".tar")).To(Equal([]string{imageName + ":" + version}))
				bill, err := os.ReadFile(path + ".cdx.json")
				Expect(err).NotTo(HaveOccurred())
				Expect(string(bill)).To(And(ContainSubstring(`"pkg:golang/github.com/open-policy-agent/opa@`),
					ContainSubstring(`"pkg:golang/golang.org/x/crypto/x509roots/fallback@`)))
				Expect(refersTo(img.digest)).To(Equal(bill))
			})
		})
	}
})

// archived are the names of the image in an archive for `docker load`.
func archived(path string) []string {
	GinkgoHelper()
	raw, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	var in image
	in.add(raw)
	var contents []struct{ RepoTags []string }
	Expect(json.Unmarshal(in.file("manifest.json"), &contents)).To(Succeed())
	Expect(contents).To(HaveLen(1))
	return contents[0].RepoTags
}

// refersTo is the bill of materials that names an image as its subject.
func refersTo(digest string) []byte {
	GinkgoHelper()
	for _, d := range topIndex().Manifests[1:] {
		Expect(d.ArtifactType).To(Equal("application/vnd.cyclonedx+json"))
		var artifact manifest
		Expect(json.Unmarshal(blob(d), &artifact)).To(Succeed())
		if artifact.Subject != nil && artifact.Subject.Digest == digest {
			return blob(artifact.Layers[0])
		}
	}
	Fail("nothing refers to " + digest)
	return nil
}
