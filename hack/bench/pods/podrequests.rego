package podrequests

containers[c] { c := input.review.object.spec.containers[_] }
containers[c] { c := input.review.object.spec.initContainers[_] }
containers[c] { c := input.review.object.spec.ephemeralContainers[_] }

exempt(c) {
	image := object.get(input, ["parameters", "exemptImages"], [])[_]
	matches_image(image, c.image)
}

matches_image(pattern, image) {
	not endswith(pattern, "*")
	image == pattern
}

matches_image(pattern, image) {
	endswith(pattern, "*")
	startswith(image, trim_suffix(pattern, "*"))
}

missing(obj, field) { not obj[field] }
missing(obj, field) { obj[field] == "" }

canonify_cpu(orig) = new { is_number(orig); new := orig * 1000 }

canonify_cpu(orig) = new {
	not is_number(orig)
	endswith(orig, "m")
	new := to_number(replace(orig, "m", ""))
}

canonify_cpu(orig) = new {
	not is_number(orig)
	not endswith(orig, "m")
	regex.match("^[0-9]+(\\.[0-9]+)?$", orig)
	new := to_number(orig) * 1000
}

multiple("") = 1
multiple("k") = 1000
multiple("M") = 1000000
multiple("G") = 1000000000
multiple("Ki") = 1024
multiple("Mi") = 1048576
multiple("Gi") = 1073741824

suffix(mem) = s {
	count(mem) > 1
	s := substring(mem, count(mem) - 2, -1)
	multiple(s)
}

suffix(mem) = s {
	count(mem) > 0
	s := substring(mem, count(mem) - 1, -1)
	multiple(s)
	not two(mem)
}

two(mem) {
	count(mem) > 1
	multiple(substring(mem, count(mem) - 2, -1))
}

canonify_mem(orig) = new { is_number(orig); new := orig }

canonify_mem(orig) = new {
	not is_number(orig)
	s := suffix(orig)
	raw := replace(orig, s, "")
	regex.match("^[0-9]+(\\.[0-9]+)?$", raw)
	new := to_number(raw) * multiple(s)
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	not c.resources.requests
	msg := sprintf("container <%v> has no resource requests", [c.name])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	field := ["cpu", "memory"][_]
	c.resources.requests
	missing(c.resources.requests, field)
	msg := sprintf("container <%v> has no %v request", [c.name, field])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	cpu := canonify_cpu(c.resources.requests.cpu)
	cpu > canonify_cpu(input.parameters.cpu)
	msg := sprintf("container <%v> has the cpu request <%v>, the most is <%v>", [c.name, c.resources.requests.cpu, input.parameters.cpu])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	mem := canonify_mem(c.resources.requests.memory)
	mem > canonify_mem(input.parameters.memory)
	msg := sprintf("container <%v> has the memory request <%v>, the most is <%v>", [c.name, c.resources.requests.memory, input.parameters.memory])
}
