// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/process"
)

// accountFolder is where a pod finds the token of its ServiceAccount.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// sandbox is how the installed Deployment's container runs, as arguments of bubblewrap.
type sandbox struct {
	spec      *corev1.PodSpec
	container *corev1.Container
	// dir takes what is mounted into it.
	dir  string
	args []string
}

// newSandbox makes namespaces as the manifests ask for. The network is this machine's,
// where the control plane listens.
func newSandbox(ctx context.Context, hostname string) *sandbox {
	GinkgoHelper()
	var deployment appsv1.Deployment
	Expect(api.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: "evenkeel"}, &deployment)).To(Succeed())
	spec := deployment.Spec.Template.Spec
	Expect(spec.Containers).To(HaveLen(1))
	dir, err := os.MkdirTemp(work, hostname+"-")
	Expect(err).NotTo(HaveOccurred())
	s := &sandbox{spec: &spec, container: &spec.Containers[0], dir: dir}
	Expect(s.container.Image).To(Equal(imageName + ":" + version))
	Expect(s.container.Command).To(BeEmpty(), "the entry point is the image's")
	s.args = []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", hostname,
		"--as-pid-1", "--die-with-parent", "--new-session", "--clearenv", "--info-fd", "3",
		"--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--chdir", "/"}
	s.secure()
	s.mount(ctx)
	s.environment()
	if *s.container.SecurityContext.ReadOnlyRootFilesystem {
		s.args = append(s.args, "--remount-ro", "/")
	}
	return s
}

// secure takes user and capabilities from the security contexts.
func (s *sandbox) secure() {
	GinkgoHelper()
	pod, container := s.spec.SecurityContext, s.container.SecurityContext
	s.args = append(s.args, "--uid", fmt.Sprint(*pod.RunAsUser), "--gid", fmt.Sprint(*pod.RunAsGroup))
	Expect(*container.AllowPrivilegeEscalation).To(BeFalse(), "bubblewrap never allows it")
	for _, capability := range container.Capabilities.Drop {
		s.args = append(s.args, "--cap-drop", string(capability))
	}
}

// mount mounts the volumes, and what every pod has of its ServiceAccount.
func (s *sandbox) mount(ctx context.Context) {
	GinkgoHelper()
	for _, at := range s.container.VolumeMounts {
		i := slices.IndexFunc(s.spec.Volumes, func(v corev1.Volume) bool { return v.Name == at.Name })
		Expect(i).To(BeNumerically(">=", 0), at.Name)
		switch v := s.spec.Volumes[i]; {
		case v.EmptyDir != nil:
			s.args = append(s.args, "--perms", "0777", "--size", fmt.Sprint(v.EmptyDir.SizeLimit.Value()), "--tmpfs",
				at.MountPath)
		case v.ConfigMap != nil:
			var content corev1.ConfigMap
			Expect(api.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: v.ConfigMap.Name}, &content)).To(
				Succeed())
			s.mountFiles(at.MountPath, content.Data)
		default:
			Fail("volume " + at.Name + " is of a kind that this test doesn't know")
		}
	}
	config := plane.Config()
	authority := config.CAData
	if len(authority) == 0 {
		var err error
		authority, err = os.ReadFile(config.CAFile)
		Expect(err).NotTo(HaveOccurred())
	}
	token := strings.TrimSpace(
		kubectl(ctx, "create", "token", s.spec.ServiceAccountName, "--namespace="+systemNamespace))
	s.mountFiles(accountFolder,
		map[string]string{"token": token, "ca.crt": string(authority), "namespace": systemNamespace})
}

// mountFiles mounts a folder of files, read-only.
func (s *sandbox) mountFiles(at string, files map[string]string) {
	GinkgoHelper()
	dir := filepath.Join(s.dir, strings.ReplaceAll(at, "/", "_"))
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	for name, content := range files {
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)).To(Succeed())
	}
	s.args = append(s.args, "--ro-bind", dir, at)
}

// environment is the container's, and where a pod finds the API server.
func (s *sandbox) environment() {
	GinkgoHelper()
	server, err := url.Parse(plane.Server)
	Expect(err).NotTo(HaveOccurred())
	host, port, err := net.SplitHostPort(server.Host)
	Expect(err).NotTo(HaveOccurred())
	s.args = append(s.args, "--setenv", "KUBERNETES_SERVICE_HOST", host, "--setenv", "KUBERNETES_SERVICE_PORT", port)
	for _, variable := range s.container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil {
			Expect(from.FieldRef.FieldPath).To(Equal("metadata.namespace"))
			value = systemNamespace
		}
		s.args = append(s.args, "--setenv", variable.Name, value)
	}
}

// command is how bubblewrap runs the image's entry point.
func (s *sandbox) command(args ...string) []string {
	return slices.Concat(s.args, []string{"--"}, images[machine()].config.Config.Entrypoint, args)
}

// inner is a program in a sandbox. It gets signals as a container's first process does.
type inner struct {
	*os.Process
	exited chan struct{}
	state  *os.ProcessState
	log    string
}

// run starts the image's program; it ends with the spec at the latest.
func (s *sandbox) run(args ...string) *inner {
	GinkgoHelper()
	read, write, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	defer read.Close()
	log, err := os.Create(filepath.Join(s.dir, "log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	null, err := os.Open(os.DevNull)
	Expect(err).NotTo(HaveOccurred())
	defer null.Close()
	outer, err := os.StartProcess(bubblewrap, append([]string{"bwrap"}, s.command(args...)...), &os.ProcAttr{
		Files: []*os.File{null, log, log, write}, Env: os.Environ(),
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	_ = write.Close()
	Expect(err).NotTo(HaveOccurred())
	p := &inner{exited: make(chan struct{}), log: log.Name()}
	go func() {
		p.state, _ = outer.Wait() // it is a child of ours
		close(p.exited)
	}()
	DeferCleanup(func() {
		_ = outer.Kill() // it may have ended; with it ends what it runs
		<-p.exited
	})
	var info struct {
		Child int `json:"child-pid"`
	}
	Expect(json.NewDecoder(read).Decode(&info)).To(Succeed(), "bubblewrap says: %s", p.said())
	p.Process, err = os.FindProcess(info.Child)
	Expect(err).NotTo(HaveOccurred())
	return p
}

// said is what the program has printed.
func (p *inner) said() string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// freePorts are ports of the loopback.
func freePorts(n int) []int {
	GinkgoHelper()
	ports, err := process.FreePorts(n)
	Expect(err).NotTo(HaveOccurred())
	return ports
}
