"""
What the conversations are about: fifteen scenarios, each with three facts that a user says and a reply has to use.

Texts with several wordings separate them by a bar. `{item}` is what the conversation is about, `{value}` what the user
said, `{other}` what the user did not say, or no longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Fact:
    """
    One thing that the user says: what it is called, what it can be, and how people speak of it.

    `said` is how the user says it, `asks` how the assistant asks for it. In the last reply stands one of four:
    `used` (it is kept to), `vague` (it is left out), `wrong` (another value is taken), `again` (it is asked for though
    the user said it).
    """

    name: str
    values: str
    said: str
    asks: str
    used: str
    vague: str
    wrong: str
    again: str


@dataclass(frozen=True)
class Scenario:
    """A kind of conversation: items, first words of the user, an exchange on the side, last words, and the facts."""

    name: str
    items: str
    opens: str
    aside: str
    asked: str
    begins: str
    ends: str
    facts: tuple[Fact, Fact, Fact]


ORDER: Final = Scenario(
    "return",
    "kettle|desk lamp|backpack|toaster|radio|camping stove|hand blender|wall clock|office chair|bread bin|"
    "bike pump|sewing kit",
    "I want to send back a {item} that I bought from you.|"
    "The {item} that I ordered is not what I need, so it has to go back.",
    "Do you still have the shop in the old harbour?|Yes, it is open on weekdays from nine to six.",
    "So how do I get my money for the {item}?|What happens with my {item} from here on?|"
    "Can you sum up how I send the {item} back?",
    "Here is how the return works.|This is what happens with your return.|The return is quickly done.",
    "The money is on your account within a week.|You hear from us as soon as the parcel is here.",
    (
        Fact(
            "order number",
            "LN-4827|LN-5310|KT-1946|KT-7702|RB-3058|RB-6614|VO-2291|VO-8845",
            "My order number is {value}.|The number of the order is {value}.",
            "Could you give me the order number?|Which order number does the receipt show?",
            "I have opened a return for order {value}.|The return for {value} is now open in our system.",
            "I have opened a return for your purchase.|The return is now open in our system.",
            "I have opened a return for order {other}.|The return for {other} is now open in our system.",
            "Which order number does the receipt show?|Please let me know the order number first.",
        ),
        Fact(
            "reason",
            "a cracked lid|a loose screw|a wrong colour|a missing plug|a strange smell|a dent on one side|a torn label",
            "What is wrong with it is {value}.|The trouble with it is {value}.",
            "What is wrong with it?|What is the reason for the return?",
            "As the reason I have put down {value}.|The form names {value} as the reason.",
            "You need not give a reason for it.|The form can stay without a reason.",
            "As the reason I have put down {other}.|The form names {other} as the reason.",
            "What is wrong with it?|What is the reason for the return?",
        ),
        Fact(
            "way of paying back",
            "voucher|bank transfer|gift card|cheque|store credit|credit note",
            "As for the money, I would rather have it as a {value}.|Please pay it back as a {value}.",
            "How shall we pay the money back?|In which form would you like the refund?",
            "You get the full price as a {value}.|The refund comes as a {value}, as agreed.",
            "You get the full price back from us.|The refund comes in full, as it should.",
            "You get the full price as a {other}.|The refund comes as a {other}, as agreed.",
            "How shall we pay the money back to you?|In which form would you like the refund?",
        ),
    ),
)
TABLE: Final = Scenario(
    "table",
    "birthday|jubilee|farewell|reunion|promotion|graduation|house-warming|silver wedding|wedding rehearsal|retirement",
    "I would like to book a table for a {item}.|We are planning a dinner for a {item} at your place.",
    "Is there somewhere to park a car?|There is a car park behind the church, two minutes on foot.",
    "What have you put down for the {item}?|Is everything settled for our {item} now?|"
    "Could you repeat the booking for the {item}?",
    "Your table is booked.|The booking stands.|All of it is in our book.",
    "We are looking forward to your visit.|The kitchen has all it needs from you.",
    (
        Fact(
            "number of guests",
            "6|7|8|9|11|12|14|16",
            "We will be {value} people.|There are {value} of us.",
            "How many people will come?|For how many guests shall I book?",
            "The table is laid for {value} people.|We have seats for {value} of you by the window.",
            "The table is large enough for all of you.|We have seats for everyone by the window.",
            "The table is laid for {other} people.|We have seats for {other} of you by the window.",
            "How many people will come to the dinner?|For how many guests shall I lay the table?",
        ),
        Fact(
            "allergy",
            "walnuts|shellfish|celery|sesame|mustard|lupin|almonds|soya",
            "One of us is allergic to {value}.|Please note that my brother must not eat {value}.",
            "Is there anything that somebody must not eat?|Are there allergies that the kitchen should know of?",
            "The kitchen cooks the whole menu without {value}.|No dish on your menu holds {value}.",
            "The kitchen cooks the whole menu fresh for you.|Every dish on your menu is made on the day.",
            "The kitchen has added {other} to the starter for you, and all else is as on the card.|"
            "The menu now comes without {other}, and all else is as on the card.",
            "Is there anything that somebody must not eat?|Are there allergies that the kitchen should know of?",
        ),
        Fact(
            "time",
            "17:30|18:00|18:45|19:15|19:45|20:00|20:30|20:45",
            "We would come at {value}.|Our train gets in early, so {value} is fine.",
            "At what time would you like to come?|Which time would suit you?",
            "We expect you at {value}.|The room is yours from {value} on.",
            "We expect you in the evening.|The room is yours for the evening.",
            "We expect you at {other}.|The room is yours from {other} on.",
            "At what time would you like to come?|Which time would suit you best?",
        ),
    ),
)
CLINIC: Final = Scenario(
    "clinic",
    "knee|shoulder|back|ankle|wrist|neck|hip|elbow|heel|thumb",
    "My {item} has been sore for weeks, and I need an appointment.|I would like to have my {item} looked at.",
    "Do I need shoes for indoors?|Socks are fine, since the floor is warm.",
    "When do I come in for my {item}, and what should I know?|So what is settled about my {item}?|"
    "Could you give me the details for the visit about my {item}?",
    "Your visit is in the calendar.|These are the details of your visit.|The visit is set up.",
    "Please come ten minutes early.|The door on the left leads to us.",
    (
        Fact(
            "day",
            "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday",
            "I only have time on a {value}.|The day that works for me is {value}.",
            "Which day of the week suits you?|On which day can you come?",
            "You are expected on {value} morning.|The visit is on {value}, right after we open.",
            "You are expected in the morning.|The visit is early, right after we open.",
            "You are expected on {other} morning.|The visit is on {other}, right after we open.",
            "On which day of the week can you come?|Which day of the week suits you?",
        ),
        Fact(
            "medicine",
            "warfarin|insulin|cortisone|ibuprofen|metformin|aspirin|lithium|thyroxine",
            "I take {value} every day, if that matters.|You should know that I am on {value}.",
            "Do you take any medicine that we should know of?|Which medicine do you take at present?",
            "I have noted {value} in your file, so the doctor will see it.|The doctor knows that you take {value}.",
            "I have put all this in your file, so the doctor will see it.|"
            "The doctor looks at your file before the visit.",
            "I have noted {other} in your file, so the doctor will see it.|The doctor knows that you take {other}.",
            "Do you take any medicine that we should know of?|Which medicine do you take at present?",
        ),
        Fact(
            "therapist",
            "Ms Okafor|Mr Lindqvist|Ms Haddad|Mr Petrov|Ms Tanaka|Mr Ferreira|Ms Nyberg|Mr Castell",
            "Last time I was with {value}, and I want to stay there.|I would like to see {value} if possible.",
            "Is there somebody whom you would like to see?|Whom did you see the last time?",
            "You will be seen by {value}.|The hour is booked with {value}, as you wished.",
            "You will be seen by one of our team.|The hour is booked with someone who has time for you.",
            "You will be seen by {other}.|The hour is booked with {other}, as you wished.",
            "Is there somebody whom you would like to see?|Whom did you see the last time?",
        ),
    ),
)
TRIP: Final = Scenario(
    "trip",
    "long weekend|honeymoon|class reunion trip|summer break|spring trip|choir outing|winter holiday|"
    "museum tour|hiking week|family visit",
    "Help me plan a {item} by train.|I need a plan for a {item}, without flying.",
    "Are night trains any good?|They save a day, but they are booked out early.",
    "What does the plan for the {item} look like now?|Can you put the {item} together for me?|"
    "Where do we stand with the {item}?",
    "Here is the plan.|This is how it could go.|The plan looks like this.",
    "Seats can be booked from tomorrow on.|The rest can be settled on the way.",
    (
        Fact(
            "destination",
            "Ljubljana|Bologna|Ghent|Porto|Gdansk|Turku|Graz|Basel",
            "It should be {value}.|I have set my mind on {value}.",
            "Where would you like to go?|Which city do you have in mind?",
            "The train takes you to {value} with one change.|From here to {value} there is a good link every morning.",
            "The train takes you there with one change.|There is a good link every morning.",
            "The train takes you to {other} with one change.|From here to {other} there is a good link every morning.",
            "Which city would you like to go to?|Where is the trip meant to go?",
        ),
        Fact(
            "budget",
            "420 euros|560 euros|640 euros|780 euros|850 euros|930 euros|1100 euros|1250 euros",
            "I can spend {value} at most.|My budget is {value} for everything.",
            "How much would you like to spend?|What is your budget?",
            "With the inn by the river it stays below {value}.|All of it together comes to less than {value}.",
            "The inn by the river is a good choice for it.|All of it together can be paid in two parts.",
            "With the inn by the river it stays below {other}.|All of it together comes to less than {other}.",
            "How much would you like to spend on it?|What is your budget for all of it?",
        ),
        Fact(
            "companion",
            "a baby|two small boys|an old dog|a friend in a wheelchair|a large cello|a grandmother of 84",
            "I will not be alone: {value} will be with me.|I am taking {value} along.",
            "Will you travel alone?|Who or what comes along?",
            "There is room for you and {value}, which I checked.|I chose seats that suit you and {value}.",
            "There is room enough, which I checked.|I chose seats that are quiet and near the door.",
            "There is room for you and {other}, which I checked.|I chose seats that suit you and {other}.",
            "Will you travel alone, or does someone come along?|Who or what comes along on the trip?",
        ),
    ),
)
MEAL: Final = Scenario(
    "meal",
    "Sunday lunch|dinner party|picnic|school lunch|late supper|garden party|brunch|potluck|team lunch|midsummer meal",
    "What could I cook for a {item}?|I need an idea for a {item}.",
    "How long does cooked rice keep?|A day in the fridge, if it is cooled down soon.",
    "So what do I cook for the {item}?|Which dish do you suggest for the {item}?|"
    "Could you settle on one dish for the {item}?",
    "I would make a bake with vegetables.|A vegetable bake fits well.|My suggestion is a bake from one dish.",
    "It can be made ready the evening before.|A green salad goes well with it.",
    (
        Fact(
            "food to avoid",
            "peanuts|cheese|eggs|gluten|mushrooms|garlic|tomatoes|fish",
            "There must be no {value} in it.|We all stay away from {value}.",
            "Is there anything that should not be in it?|What do you not eat?",
            "It comes without {value}.|There is no {value} in it, as you asked.",
            "It comes out crisp.|There is little work in it, and no haste.",
            "It gets its taste from {other}.|There is a lot of {other} in it.",
            "Is there anything that should not be in it?|What do you not eat?",
        ),
        Fact(
            "number of portions",
            "3|5|6|8|9|10|12|15",
            "It has to feed {value} people.|We are {value} at the table.",
            "For how many people do you cook?|How many portions do you need?",
            "The amounts are for {value} people.|I worked out the amounts for {value} portions.",
            "The amounts are easy to change.|I worked out the amounts with some to spare.",
            "The amounts are for {other} people.|I worked out the amounts for {other} portions.",
            "For how many people do you cook?|How many portions do you need?",
        ),
        Fact(
            "kitchen tool",
            "microwave|single hotplate|pressure cooker|wood stove|grill|slow cooker|rice cooker|small oven",
            "All I have is a {value}.|My kitchen has only a {value}.",
            "What can you cook with?|Which tools does your kitchen have?",
            "All steps work with a {value}.|You need nothing but your {value} for it.",
            "All steps are simple ones.|You need nothing but a knife and a bowl beside it.",
            "All steps work with a {other}.|You need nothing but your {other} for it.",
            "What can you cook with?|Which tools does your kitchen have?",
        ),
    ),
)
GIFT: Final = Scenario(
    "gift",
    "aunt|neighbour|colleague|godson|sister|teacher|grandfather|flatmate|niece|trainer",
    "I am looking for a present for my {item}.|My {item} has a birthday soon, and I have no idea what to give.",
    "Is wrapping in cloth a good idea?|Yes, and the cloth can be used afterwards.",
    "What should I give my {item}, and what do I write on the card?|"
    "Which present for my {item} do you suggest in the end?|Can you decide on a present for my {item}?",
    "I have an idea.|This would be my choice.|One present stands out.",
    "The shop in the main street has it.|It can be changed for another one within a month.",
    (
        Fact(
            "name",
            "Marit|Jonas|Ayla|Piotr|Noor|Ruben|Selma|Ivo",
            "The name is {value}.|I should write {value} on the card.",
            "What is the name of the person?|Whose name goes on the card?",
            "On the card I would write: dear {value}, all the best.|For the card: {value}, have a lovely year.",
            "On the card I would write: all the best to you.|For the card: have a lovely year.",
            "On the card I would write: dear {other}, all the best.|For the card: {other}, have a lovely year.",
            "Whose name goes on the card?|What is the name of the person?",
        ),
        Fact(
            "hobby",
            "birdwatching|pottery|chess|sailing|knitting|astronomy|beekeeping|climbing",
            "The great hobby is {value}.|What counts most there is {value}.",
            "What does the person like to do?|Is there a hobby?",
            "A day course in {value} would be a good present.|I would take a fine book about {value}.",
            "A day course would be a good present.|I would take a fine book with many pictures.",
            "A day course in {other} would be a good present.|I would take a fine book about {other}.",
            "What does the person like to do?|Is there a hobby that counts?",
        ),
        Fact(
            "limit",
            "15 euros|20 euros|25 euros|30 euros|35 euros|45 euros|50 euros|60 euros",
            "It should cost no more than {value}.|I want to stay below {value}.",
            "How much may it cost?|Is there a limit to the price?",
            "It stays within your {value}.|There are good ones for less than {value}.",
            "It is easy to find.|There are good ones in many shops.",
            "It stays within your {other}.|There are good ones for less than {other}.",
            "How much may it cost?|Is there a limit to the price?",
        ),
    ),
)
SUPPORT: Final = Scenario(
    "support",
    "printer|router|scanner|tablet|headset|projector|keyboard|monitor|webcam|speaker",
    "My {item} has stopped working.|There is trouble with my {item} since this morning.",
    "Is the cable the same for the older ones?|Yes, one cable fits all of them.",
    "What do I do with the {item} now?|How do I get the {item} to work?|What is the next step for my {item}?",
    "Let us go on from there.|We can narrow it down.|There is one thing left.",
    "It takes about five minutes.|Write to me if the light stays red.",
    (
        Fact(
            "model",
            "QX-210|QX-350|MR-12|MR-48|TL-900|TL-77|ZB-5|ZB-64",
            "The label says {value}.|It is the model {value}.",
            "Which model is it?|What does the label on its back say?",
            "For the {value} there is a new driver.|The {value} has a reset button under the lid.",
            "For this kind of fault there is a new driver.|Most of them have a reset button under the lid.",
            "For the {other} there is a new driver.|The {other} has a reset button under the lid.",
            "Which model is it?|What does the label on its back say?",
        ),
        Fact(
            "error code",
            "E17|E23|E31|E46|E52|E68|E74|E89",
            "It shows the code {value}.|On its display I read {value}.",
            "Does it show an error code?|What can you read on its display?",
            "The code {value} points to its memory.|By {value} it means that its memory is full.",
            "The fault points to its memory.|It may well be that its memory is full.",
            "The code {other} points to its memory.|By {other} it means that its memory is full.",
            "Does it show an error code?|What can you read on its display?",
        ),
        Fact(
            "step already tried",
            "another cable|a cold restart|a factory reset|another socket|new batteries|an older driver",
            "I have tried {value} already.|What I did was {value}, and it changed nothing.",
            "What have you tried so far?|Did you try something already?",
            "Since {value} did not help, clear its memory by holding the side key.|"
            "You have been through {value}, so go on to the side key and hold it.",
            "Next, clear its memory by holding the side key for ten seconds.|"
            "Please go on to the side key and hold it for ten seconds.",
            "Since {other} did not help, clear its memory by holding the side key.|"
            "You have been through {other}, so go on to the side key and hold it.",
            "What have you tried so far?|Did you try something already?",
        ),
    ),
)
HOTEL: Final = Scenario(
    "hotel",
    "trade fair|concert|marathon|congress|chess open|film festival|wedding|football final|book fair|regatta",
    "I need a room in your hotel because of the {item}.|We come to town for the {item} and need a room.",
    "Is breakfast included?|It is, from half past six on.",
    "Can you confirm the room for the {item}?|What is booked for us at the time of the {item}?|"
    "How does the booking for the {item} stand?",
    "Your booking is complete.|The room is yours.|All is confirmed.",
    "You can cancel it until the day before.|The key waits for you at the desk.",
    (
        Fact(
            "date of arrival",
            "3 May|8 June|12 July|17 August|21 September|26 October|5 November|9 December",
            "I arrive on {value}.|My arrival is on {value}.",
            "On which day do you arrive?|What is the date of your arrival?",
            "We expect you on {value}.|The room is free for you from {value} on.",
            "We expect you on the day of your arrival.|The room is free for you from noon on.",
            "We expect you on {other}.|The room is free for you from {other} on.",
            "On which day do you arrive?|What is the date of your arrival?",
        ),
        Fact(
            "kind of room",
            "tower room|quiet room|twin room|corner room|ground-floor room|family room",
            "I would like a {value}.|If there is a {value} free, I take it.",
            "Which kind of room would you like?|Do you have a wish about the room?",
            "You have a {value}.|I set aside a {value} for you.",
            "You have one of our best rooms.|I set aside a fine room for you.",
            "You have a {other}.|I set aside a {other} for you.",
            "Which kind of room would you like?|Do you have a wish about the room?",
        ),
        Fact(
            "length of stay",
            "2 nights|3 nights|4 nights|5 nights|6 nights|8 nights",
            "I stay for {value}.|It is for {value}.",
            "How long do you stay?|For how many nights is it?",
            "It is booked for {value}.|The price holds for all {value}.",
            "It is booked for the whole stay.|The price holds for the whole stay.",
            "It is booked for {other}.|The price holds for all {other}.",
            "How long do you stay with us?|For how many nights is it?",
        ),
    ),
)
COURSE: Final = Scenario(
    "course",
    "evening|lunch break|commute|weekend|early morning|night shift|parental leave|sabbatical|gap year|semester break",
    "I want to learn a language in my {item}.|Could you plan language lessons for my {item}?",
    "Are films a good way to learn?|They help, above all with the same words as subtitles.",
    "What would my plan for the {item} be?|How do I use the {item} best, then?|"
    "Please write down the plan for my {item}.",
    "Here is a plan.|This is what I would do.|A plan could look like this.",
    "After a month we look at it together.|Small steps are what counts.",
    (
        Fact(
            "language",
            "Finnish|Turkish|Welsh|Czech|Danish|Basque|Estonian|Greek",
            "It is {value} that I want to learn.|I would like to learn {value}.",
            "Which language is it?|Which language would you like to learn?",
            "Begin with the hundred most common words of {value}.|A first reader in {value} gives you the basics.",
            "Begin with the hundred most common words.|A first reader gives you the basics.",
            "Begin with the hundred most common words of {other}.|A first reader in {other} gives you the basics.",
            "Which language would you like to learn?|Which language is it to be?",
        ),
        Fact(
            "minutes a day",
            "10 minutes|15 minutes|20 minutes|25 minutes|35 minutes|40 minutes|45 minutes|50 minutes",
            "I have {value} a day.|No more than {value} a day are possible.",
            "How much time do you have each day?|How long can you learn on a usual day?",
            "Each lesson takes {value}.|A lesson fits into your {value}.",
            "Each lesson has three parts.|A lesson fits into a normal day.",
            "Each lesson takes {other}.|A lesson fits into your {other}.",
            "How much time do you have each day?|How long can you learn on a usual day?",
        ),
        Fact(
            "aim",
            "order food|read letters|follow the news|sing in a choir|talk with in-laws|pass a test",
            "My aim is to {value}.|In the end I want to {value}.",
            "What is your aim?|What would you like to be able to do?",
            "Every week ends with an exercise that helps you {value}.|From week three on you practise how to {value}.",
            "Every week ends with an exercise that sums it up.|From week three on you practise with a partner.",
            "Every week ends with an exercise that helps you {other}.|From week three on you practise how to {other}.",
            "What would you like to be able to do?|What is your aim with it?",
        ),
    ),
)
MOVE: Final = Scenario(
    "move",
    "two-room flat|studio|terraced house|loft|farmhouse|shop|student room|bungalow|workshop|music school",
    "We are moving out of a {item} and need help.|Can you move a {item} for me?",
    "Do you lend boxes?|Yes, fifty of them, for two weeks.",
    "What does your offer for the {item} say?|How will the move of the {item} go?|"
    "Could you sum up the move of the {item}?",
    "This is our offer.|Here is how we would do it.|The offer is ready.",
    "The price is fixed.|You only have to sign it.",
    (
        Fact(
            "floor",
            "second floor|third floor|fourth floor|fifth floor|sixth floor|ground floor",
            "It is on the {value}.|All of it stands on the {value}, with no lift.",
            "On which floor is it?|How high up is it?",
            "We send as many people as the {value} takes.|For the {value} we bring straps and an outside lift.",
            "We send as many people as it takes.|For the stairs we bring straps and blankets.",
            "We send as many people as the {other} takes.|For the {other} we bring straps and an outside lift.",
            "On which floor is it?|How high up is it?",
        ),
        Fact(
            "heavy piece",
            "piano|safe|fish tank|pool table|marble table|harmonium|loom|printing press",
            "There is a {value} that has to come along.|The hardest thing will be a {value}.",
            "Is there anything that is very heavy?|What is the heaviest piece?",
            "The {value} goes first, on a board with wheels.|Two of us carry nothing but the {value}.",
            "The furniture goes first, on a board with wheels.|Two of us carry nothing but the large pieces.",
            "The {other} goes first, on a board with wheels.|Two of us carry nothing but the {other}.",
            "Is there anything that is very heavy?|What is the heaviest piece?",
        ),
        Fact(
            "day of the move",
            "4 March|11 April|16 May|20 June|25 July|29 August|6 October|13 November",
            "It has to be on {value}.|We hand in the keys on {value}, so it must be then.",
            "When do you move?|On which day shall we come?",
            "The van is at your door on {value} at eight.|We have kept {value} free for you.",
            "The van is at your door at eight.|We have kept a whole day free for you.",
            "The van is at your door on {other} at eight.|We have kept {other} free for you.",
            "On which day shall we come?|When is the day of the move?",
        ),
    ),
)
GARDEN: Final = Scenario(
    "garden",
    "balcony|front garden|roof terrace|courtyard|allotment|school garden|window box|slope behind the house|"
    "pond edge|small lawn",
    "I want to plant something on my {item}.|What could grow on my {item}?",
    "How often do I have to water in summer?|In the evening, every second day, unless it rains.",
    "So what do I plant on the {item}?|Which plants for the {item} do you suggest?|"
    "What would you do with the {item}, all in all?",
    "I would keep it simple.|Here is what I would plant.|There is a good choice for that.",
    "In the second year it looks its best.|A layer of straw keeps it moist.",
    (
        Fact(
            "soil",
            "sandy soil|clay soil|chalky soil|peaty soil|stony soil|acid soil",
            "It has {value}.|What I have there is {value}.",
            "What is the soil like?|Which kind of soil is there?",
            "Thyme and sedges cope well with {value}.|For {value} I would take asters and yarrow.",
            "Thyme and sedges cope well with most places.|For a start I would take asters and yarrow.",
            "Thyme and sedges cope well with {other}.|For {other} I would take asters and yarrow.",
            "Which kind of soil is there?|What is the soil like?",
        ),
        Fact(
            "animal",
            "rabbit|tortoise|cat|goat|guinea pig|hen|donkey|puppy",
            "Mind that my {value} eats whatever grows there.|My {value} runs about there.",
            "Do animals or children play there?|Is there an animal that might eat the plants?",
            "None of them harms a {value}.|All of them are safe for your {value}.",
            "None of them needs much care.|All of them are sold as small plants.",
            "None of them harms a {other}.|All of them are safe for your {other}.",
            "Is there an animal that might eat the plants?|Do animals or children play there?",
        ),
        Fact(
            "colour",
            "white|yellow|purple|orange|blue|pink|scarlet|cream",
            "I would love it to bloom in {value}.|My favourite colour there is {value}.",
            "Which colour would you like?|Do you have a wish about the colour?",
            "They bloom in {value} from June on.|Choose the sorts that flower in {value}.",
            "They bloom for weeks from June on.|Choose the sorts that flower late.",
            "They bloom in {other} from June on.|Choose the sorts that flower in {other}.",
            "Which colour would you like?|Do you have a wish about the colour?",
        ),
    ),
)
CODE: Final = Scenario(
    "report",
    "sales figures|sensor readings|school grades|bus delays|library loans|weather data|survey replies|"
    "stock levels|running times|power readings",
    "I need a script that makes a report of our {item}.|Can you help me with a report on the {item}?",
    "Should I keep the raw files?|Yes, in a folder that nothing writes to.",
    "How will the script for the {item} work, then?|Could you describe the script for the {item} as a whole?|"
    "What is the plan for the report on the {item}?",
    "The script has three parts.|This is how it works.|It comes down to a few steps.",
    "I can write it out when you agree.|Tests come with it.",
    (
        Fact(
            "table",
            "t_daily|t_archive|t_master|t_raw|t_clean|t_export|t_merged|t_2021",
            "The data is in a table called {value}.|Everything is in {value}.",
            "What is the table called?|In which table is the data?",
            "It reads the rows of {value} in blocks.|First it takes the newest rows from {value}.",
            "It reads the rows in blocks.|First it takes the newest rows.",
            "It reads the rows of {other} in blocks.|First it takes the newest rows from {other}.",
            "In which table is the data?|What is the table called?",
        ),
        Fact(
            "version",
            "Python 3.8|Python 3.9|Python 3.10|Python 3.11|Ruby 2.7|Ruby 3.1|Perl 5.30|Perl 5.36",
            "Our server has {value} and nothing newer.|It must run on {value}.",
            "Which version does it have to run on?|What is installed on the server?",
            "It uses nothing that {value} lacks.|All of it runs on {value}.",
            "It uses nothing that has to be installed.|All of it runs in less than a minute.",
            "It uses nothing that {other} lacks.|All of it runs on {other}.",
            "Which version does it have to run on?|What is installed on the server?",
        ),
        Fact(
            "form of the result",
            "CSV|PDF|HTML|Markdown|JSON|LaTeX",
            "My boss wants it as {value}.|The result has to be {value}.",
            "In which form do you need the result?|What should the output be?",
            "At the end it writes the report as {value}.|The last part turns the sums into {value}.",
            "At the end it writes the report to a folder.|The last part turns the sums into one file.",
            "At the end it writes the report as {other}.|The last part turns the sums into {other}.",
            "In which form do you need the result?|What should the output be?",
        ),
    ),
)
CLAIM: Final = Scenario(
    "claim",
    "bicycle|camera|window pane|carpet|violin|laptop|garden shed|tent|washing machine|fur coat",
    "I have to report damage to my {item}.|My {item} was damaged, and I want to report it.",
    "Do I need photos?|Two are enough, one from near and one from afar.",
    "What is in the report about the {item} now?|Is the report about my {item} complete?|"
    "Please sum up my report on the {item}.",
    "The report is complete.|This is what the report says.|Your report is with us.",
    "A letter follows within ten days.|Please keep what is left of it.",
    (
        Fact(
            "policy number",
            "HV-30418|HV-55702|PL-18836|PL-72940|DM-46125|DM-60387|SK-21759|SK-89012",
            "My policy has the number {value}.|The policy number is {value}.",
            "What is the number of your policy?|Could you give me your policy number?",
            "It is filed under policy {value}.|I have put it under {value}.",
            "It is filed under your name.|I have put it with your other papers.",
            "It is filed under policy {other}.|I have put it under {other}.",
            "Could you give me your policy number?|What is the number of your policy?",
        ),
        Fact(
            "cause",
            "hail|a burst pipe|a fallen branch|a short circuit|a removal van|a cooking fire",
            "The cause was {value}.|What did it was {value}.",
            "What was the cause?|How did the damage come about?",
            "As the cause it names {value}.|It says that {value} did the damage.",
            "It describes the damage in full.|It says how large the damage is.",
            "As the cause it names {other}.|It says that {other} did the damage.",
            "What was the cause of the damage?|How did the damage come about?",
        ),
        Fact(
            "value",
            "180 euros|260 euros|375 euros|490 euros|610 euros|745 euros|880 euros|990 euros",
            "It was worth {value}.|I paid {value} for it.",
            "What was it worth?|How much did you pay for it?",
            "The loss is put at {value}.|We reckon with {value}.",
            "The loss is put down as total.|We reckon with a quick decision.",
            "The loss is put at {other}.|We reckon with {other}.",
            "What was it worth?|How much did you pay for it?",
        ),
    ),
)
RUN: Final = Scenario(
    "training",
    "city run|charity run|forest race|relay|half marathon|night run|coast run|mountain run|company run|bridge run",
    "I have signed up for a {item} and need a training plan.|Could you help me to train for a {item}?",
    "Do I need new shoes?|Not if yours are less than a year old.",
    "What does my plan for the {item} look like?|How do I train for the {item}, then?|"
    "Can you write the plan for the {item} in a few lines?",
    "Your plan is a gentle one.|Here is the plan.|This should bring you there.",
    "Sleep is a part of it.|Drink enough on warm days.",
    (
        Fact(
            "weak spot",
            "left knee|right ankle|lower back|Achilles tendon|right hip|left shin",
            "My {value} hurts when I do too much.|I have to be careful with my {value}.",
            "Is there anything that hurts when you run?|Do you have an old injury?",
            "Soft ground spares your {value}.|We begin slowly because of your {value}.",
            "Soft ground is best at first.|We begin slowly, with short runs.",
            "Soft ground spares your {other}.|We begin slowly because of your {other}.",
            "Is there anything that hurts when you run?|Do you have an old injury?",
        ),
        Fact(
            "days a week",
            "2 days|3 days|4 days|5 days|6 days",
            "I can run on {value} a week.|There is time for it on {value} a week.",
            "On how many days a week can you run?|How often can you train?",
            "You run on {value} a week, and the others are for rest.|The load is spread over {value}.",
            "You run at an easy pace, and rest in between.|The load is spread over the week.",
            "You run on {other} a week, and the others are for rest.|The load is spread over {other}.",
            "How often can you train?|On how many days a week can you run?",
        ),
        Fact(
            "goal",
            "48 minutes|52 minutes|57 minutes|64 minutes|71 minutes|83 minutes|95 minutes|112 minutes",
            "I would like to reach {value}.|My goal is {value}.",
            "Which time do you have in mind?|What is your goal?",
            "From week five on, the pace is that of {value}.|The last weeks get you ready for {value}.",
            "From week five on, the pace goes up a little.|The last weeks get you ready for the start.",
            "From week five on, the pace is that of {other}.|The last weeks get you ready for {other}.",
            "Which time do you have in mind?|What is your goal?",
        ),
    ),
)
LIBRARY: Final = Scenario(
    "library",
    "atlas|cookbook|crime novel|travel guide|biography|songbook|field guide|comic|dictionary|poetry volume",
    "I have a question about the {item} that I borrowed.|The {item} on my desk is due soon, and I still need it.",
    "Is there a place to read newspapers?|Yes, on the first floor by the stairs.",
    "What is the state of things with the {item}?|So what did you do about the {item}?|"
    "Can you tell me where I stand with the {item}?",
    "It is done.|Here is how it stands.|I looked after it.",
    "You get a letter before it is due.|Nothing has to be paid.",
    (
        Fact(
            "card number",
            "70415|70932|71288|71604|72051|72377|72846|73190",
            "My card has the number {value}.|The number on my card is {value}.",
            "What is the number of your card?|Could you read me the number on your card?",
            "The loan on card {value} is longer now.|I found the loan under {value} and renewed it.",
            "The loan on your card is longer now.|I found the loan and renewed it.",
            "The loan on card {other} is longer now.|I found the loan under {other} and renewed it.",
            "What is the number of your card?|Could you read me the number on your card?",
        ),
        Fact(
            "branch",
            "Elm Street|Mill Lane|Station Road|Park Row|Castle Hill|Bridge End",
            "I will bring it back to the branch in {value}.|For me {value} is the nearest branch.",
            "Which branch do you go to?|At which branch will you bring it back?",
            "You can hand it in at {value}.|The branch in {value} knows about it.",
            "You can hand it in at the desk.|The staff at the desk know about it.",
            "You can hand it in at {other}.|The branch in {other} knows about it.",
            "Which branch do you go to?|At which branch will you bring it back?",
        ),
        Fact(
            "new date",
            "7 January|14 February|19 March|23 April|28 May|2 July|10 September|15 October",
            "I need it until {value}.|Could it be mine until {value}?",
            "How long do you need it?|Until when would you like to have it?",
            "It is yours until {value}.|The new date is {value}.",
            "It is yours for some time.|The new date is in your account.",
            "It is yours until {other}.|The new date is {other}.",
            "Until when would you like to have it?|How long do you need it?",
        ),
    ),
)
SCENARIOS: Final = (
    *(ORDER, TABLE, CLINIC, TRIP, MEAL, GIFT, SUPPORT, HOTEL, COURSE, MOVE, GARDEN, CODE, CLAIM, RUN, LIBRARY),
)
