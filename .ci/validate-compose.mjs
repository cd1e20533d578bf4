// Checks deploy/compose.yaml against the Compose specification's JSON schema, and what the schema
// cannot know: that every name is declared, every image has a version, and no port but the proxy's
// is open.
//
//   node validate-compose.mjs SCHEMA COMPOSE      (in a folder with the npm packages ajv and yaml)
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const Ajv = require("ajv/dist/2019").default;
const formats = require("ajv-formats").default;
const YAML = require("yaml");

const [schemaFile, composeFile] = process.argv.slice(2);
const compose = YAML.parse(readFileSync(composeFile, "utf8"), { strict: true, uniqueKeys: true });
// Written for an older ajv: `id` (which only repeats where a definition stands) and the spelling of the dialect.
const old = (key, value) => ((key === "id" || key === "$schema") && typeof value === "string" ? undefined : value);
const schema = JSON.parse(readFileSync(schemaFile, "utf8"), old);
const ajv = new Ajv({ strict: false, allErrors: true });
formats(ajv);
for (const format of ["expose", "ports", "subnet_ip_address", "duration"]) ajv.addFormat(format, true);

const wrong = [];
// The schema is older than `name`.
const { name, ...rest } = compose;
if (typeof name !== "string") wrong.push("the project has no name");
const validate = ajv.compile(schema);
if (!validate(rest)) wrong.push(...validate.errors.map((e) => `${e.instancePath}: ${e.message}`));

const list = (named) => (Array.isArray(named) ? named : Object.keys(named ?? {}));
for (const [service, is] of Object.entries(compose.services)) {
  for (const part of ["networks", "secrets"]) {
    for (const used of list(is[part])) {
      if (!(used in (compose[part] ?? {}))) wrong.push(`${service}: ${part} has no ${used}`);
    }
  }
  for (const volume of is.volumes ?? []) {
    const source = volume.split(":")[0];
    if (!/^[./]/.test(source) && !(source in compose.volumes)) wrong.push(`${service}: there is no volume ${source}`);
  }
  for (const other of list(is.depends_on)) {
    if (!(other in compose.services)) wrong.push(`${service} waits for ${other}, which there is not`);
    else if (is.depends_on[other].condition === "service_healthy" && !compose.services[other].healthcheck
      && !compose.services[other].build) wrong.push(`${other} never becomes healthy`);
  }
  if (!is.build && !/:[\w.-]*\d[\w.-]*$/.test(is.image ?? "")) wrong.push(`${service}: which version of ${is.image}?`);
  if (is.ports && service !== "proxy") wrong.push(`${service} is open to the outside`);
}
const jury = compose.services.jury;
if (jury.deploy.replicas !== 2 || !jury.read_only || jury.cap_drop[0] !== "ALL") wrong.push("jury is not what README.md says");
if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
console.log(`${composeFile}: ${Object.keys(compose.services).length} services`);
