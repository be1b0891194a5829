// Verifies deliveries with the official libraries. Reads a JSON array of
// {secret, headers, body} and prints how many there were; throws at the first that fails, or
// that still verifies after its body, its id or its time was changed.
const standard = require("standardwebhooks").Webhook;
const svix = require("svix").Webhook;

const deliveries = JSON.parse(require("fs").readFileSync(0, "utf8"));
for (const { secret, headers, body } of deliveries) {
  for (const [name, Webhook] of [["standardwebhooks", standard], ["svix", svix]]) {
    const hook = new Webhook(secret);
    hook.verify(body, headers);
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    for (const [b, h] of [
      [body + " ", headers],
      [body, { ...headers, "webhook-id": "evt_other" }],
      [body, { ...headers, "webhook-timestamp": later }],
    ]) {
      let refused = false;
      try {
        hook.verify(b, h);
      } catch {
        refused = true;
      }
      if (!refused) throw new Error(name + " verifies a changed delivery");
    }
  }
}
console.log("verified " + deliveries.length);
