// The first step: the browser knows the time zone, which the machine of the hub may not.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const field = document.querySelector("[data-guess] [name='hub.time_zone']");
if (field && [...field.options].some((each) => each.value === zone)) field.value = zone;
