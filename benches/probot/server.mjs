// A probot that listens for the same event and does nothing with it: Jury's peer in `webhook.rs`.
import { run } from "probot";

await run((app) => {
  app.on("pull_request", async () => {});
});
