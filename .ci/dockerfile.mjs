// Executes deploy/Dockerfile without an engine: each stage in a folder of its own, each step in a
// sandbox that sees of this machine only /usr, /etc and the Rust toolchain, and then starts what
// was built as the image would: not as root, on a read-only root, and asks for its health.
//
//   node .ci/dockerfile.mjs WORK TARGET     (as root; WORK an empty folder, TARGET cargo's target folder)
//
// Not executed: `apt-get install`, which would change this machine. Its packages must be known to apt.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { generateKeyPairSync } from "node:crypto";
import { dirname, join } from "node:path";

const [work, target] = process.argv.slice(2);
const fail = (why) => {
  console.error(`deploy/Dockerfile: ${why}`);
  process.exit(1);
};
if (!work || !target) fail("usage: dockerfile.mjs WORK TARGET");
if (process.getuid() !== 0) fail("these steps have to be executed as root");

const steps = readFileSync("deploy/Dockerfile", "utf8")
  .split("\n")
  .filter((line) => !line.startsWith("#"))
  .join("\n")
  .replace(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => {
    const [, word, rest] = /^(\S+)\s+(.*)$/.exec(line) ?? fail(`unreadable: ${line}`);
    return { word, rest };
  });

// At their own paths, so that what was built before is found again.
const home = process.env.HOME;
const cargo = process.env.CARGO_HOME ?? join(home, ".cargo");
const rustup = process.env.RUSTUP_HOME ?? join(home, ".rustup");

/** What a stage has come to. */
const stages = new Map();
let stage;

/** The sandbox of a stage; `image`: as the finished image is run. */
function sandbox({ image = false } = {}) {
  const { root } = stage;
  return [
    image ? "--ro-bind" : "--bind", root, "/",
    "--ro-bind", "/usr", "/usr", "--bind", join(root, "usr-local"), "/usr/local",
    "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
    ...(image ? ["--bind", join(root, "data"), "/data", "--unshare-net"] : []),
    ...(stage.builds ? ["--bind", cargo, cargo, "--ro-bind", rustup, rustup, "--bind", target, target] : []),
    "--unshare-pid", "--die-with-parent", "--clearenv",
  ];
}

function run(command) {
  const env = {
    PATH: `${stage.builds ? `${cargo}/bin:` : ""}/usr/local/bin:/usr/bin:/bin`,
    ...(stage.builds ? { CARGO_HOME: cargo, RUSTUP_HOME: rustup, CARGO_TARGET_DIR: target } : {}),
    ...(stage.builds ? passed(["CARGO_HTTP_CAINFO", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy"]) : {}),
    ...stage.env,
  };
  const set = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  const args = [...sandbox(), ...set, "--cap-add", "CAP_CHOWN", "--chdir", stage.folder, "/bin/sh", "-ec", command];
  if (spawnSync("bwrap", args, { stdio: "inherit" }).status !== 0) fail(`this step failed: ${command}`);
}

/** Variables of whoever runs this that a download needs. */
function passed(names) {
  return Object.fromEntries(names.filter((n) => process.env[n]).map((n) => [n, process.env[n]]));
}

/** Checks an `apt-get install` step, and gives what else the step does. */
function withoutApt(command) {
  return command.split("&&").map((part) => part.trim()).filter((part) => {
    if (!part.startsWith("apt-get") && !part.includes("/var/lib/apt/lists")) return true;
    const names = /^apt-get install (.*)$/.exec(part)?.[1].split(/\s+/).filter((n) => !n.startsWith("-")) ?? [];
    for (const name of names) {
      const known = spawnSync("apt-cache", ["show", name], { stdio: "ignore" }).status === 0
        || spawnSync("dpkg", ["-s", name], { stdio: "ignore" }).status === 0;
      if (!known) fail(`apt knows no package ${name}`);
    }
    return false;
  }).join(" && ");
}

/** Copies what `.dockerignore` lets through: it names the top-level entries that are wanted. */
function copyContext(to) {
  const wanted = readFileSync(".dockerignore", "utf8").split("\n")
    .filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const tracked = execFileSync("git", ["ls-files", "-z", "--", ...wanted], { encoding: "utf8" });
  for (const path of tracked.split("\0").filter(Boolean)) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(path, join(to, path));
  }
}

for (const { word, rest } of steps) {
  console.log(`-- ${word} ${rest}`);
  switch (word) {
    case "FROM": {
      const [, image, name] = /^(\S+:\S+)(?: AS (\S+))?$/.exec(rest) ?? fail(`an image without a tag: ${rest}`);
      const root = join(work, String(stages.size));
      stage = { root, folder: "/", env: {}, builds: image.startsWith("rust:") };
      for (const folder of ["usr-local/bin", "tmp"]) mkdirSync(join(root, folder), { recursive: true });
      for (const name of ["bin", "sbin", "lib", "lib64"].filter((n) => existsSync(`/usr/${n}`))) symlinkSync(`usr/${name}`, join(root, name));
      stages.set(name ?? "", stage);
      break;
    }
    // A debug build: what counts here is that the steps work.
    case "ARG": stage.env[rest.split("=")[0]] = rest.startsWith("PROFILE=") ? "dev" : rest.split("=")[1]; break;
    case "ENV":
      for (const [, name, value] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value;
      break;
    case "WORKDIR":
      stage.folder = rest;
      mkdirSync(join(stage.root, rest), { recursive: true });
      break;
    case "COPY": {
      const [, from, source, to] = /^(?:--from=(\S+) )?(\S+) (\S+)$/.exec(rest) ?? fail(`unknown form: COPY ${rest}`);
      if (!from && source === "." && to === ".") copyContext(join(stage.root, stage.folder));
      else if (from && to.startsWith("/usr/local/")) cpSync(join(stages.get(from).root, source), join(stage.root, to.replace("/usr/local", "usr-local")));
      else fail(`unknown form: COPY ${rest}`);
      break;
    }
    case "RUN": {
      const command = withoutApt(rest);
      if (command) run(command);
      break;
    }
    case "USER": stage.user = rest; break;
    case "HEALTHCHECK": stage.health = JSON.parse(/CMD (\[.*\])$/.exec(rest)[1]); break;
    case "ENTRYPOINT": stage.entry = JSON.parse(rest); break;
    case "CMD": stage.command = JSON.parse(rest); break;
    case "EXPOSE": case "VOLUME": case "STOPSIGNAL": break;
    default: fail(`this script does not know ${word}`);
  }
}

// The finished image, started with a key and a secret as compose.yaml hands them over.
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const secrets = join(work, "secrets");
mkdirSync(secrets);
writeFileSync(join(secrets, "app-key"), privateKey);
writeFileSync(join(secrets, "webhook-secret"), "a long enough secret of this check");
for (const name of ["app-key", "webhook-secret"]) chmodSync(join(secrets, name), 0o444);
mkdirSync(join(stage.root, "run/secrets"), { recursive: true });
const [uid, gid] = stage.user.split(":");
if (!(Number(uid) > 0 && Number(gid) > 0)) fail("it must not run as root");
const quote = (words) => words.map((w) => `'${w.replaceAll("'", "'\\''")}'`).join(" ");
const started = `
${quote([...stage.entry, ...stage.command])} & server=$!
tries=0
until ${quote(stage.health)}; do
  kill -0 $server || { echo 'it ended' >&2; exit 1; }
  tries=$((tries + 1)); [ $tries -lt 100 ] || { echo 'it never became healthy' >&2; exit 1; }
  sleep 0.2
done
! touch /written 2>/dev/null || { echo 'the root is not read-only' >&2; exit 1; }
[ "$(id -u)" = ${uid} ]
kill -TERM $server
wait $server`;
const env = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  ...stage.env,
  JURY_GITHUB_APP_ID: "1",
  JURY_GITHUB_PRIVATE_KEY_FILE: "/run/secrets/app-key",
  JURY_GITHUB_WEBHOOK_SECRET_FILE: "/run/secrets/webhook-secret",
};
const args = [
  ...sandbox({ image: true }),
  "--ro-bind", secrets, "/run/secrets",
  ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
  "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--chdir", stage.folder,
  "setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs",
  "/bin/sh", "-ec", started,
];
console.log("-- the image is started");
if (spawnSync("bwrap", args, { stdio: "inherit" }).status !== 0) fail("what was built does not run");
console.log("-- it was healthy, and ended by itself when it was told to");
