"""Make rubric cases whose truth a program computes: a task with constraints, an answer, and one check a criterion.

Each topic is a task, the word for its subject, a title, at times a line of code, and eight sentences; the word between
asterisks in a sentence is the one that a criterion may ask for or forbid. A case draws constraints for a topic,
assembles an answer that meets some of them, and a reference that meets all; ``met`` comes from
:func:`calm.core.checks.verify` and from nothing else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from calm.core.checks import verify

__all__ = ["Topic", "rubric_case", "rubric_cases", "topic_list"]

_TOPICS: Final = """
@Describe a lighthouse for a child|lighthouse|Lighthouses
A lighthouse has a bright *lamp* at the top of its tower.
Long ago a *keeper* lived there and cleaned the glass every day.
The lighthouse warns sailors of *rocks* that lie under the water.
Many a lighthouse is painted in red and white *stripes*.
A winding *stair* leads up to the room with the light.
One old saying of the coast is "a light is a friend".
Today the *light* is switched on by a small computer.
From the sea a lighthouse can be seen 30 kilometres away.
@Explain to a beginner how bread is baked|bread|Baking Bread
Good bread begins with *flour*, water, salt and yeast.
The *yeast* makes small bubbles in the dough.
Knead the dough for 10 minutes on a clean *table*.
The bread then rests under a *cloth* until it has doubled.
A hot *oven* gives the bread a brown crust.
Bakers like to say "the dough will tell you when".
Tap the *crust*, and a hollow sound means that the loaf is done.
Let the bread cool before you cut the first *slice*.
@Describe a public library for a newcomer|library|The Library
The library lends *books* to anyone who has a card.
At the front *desk* you can ask for help.
A quiet *room* upstairs is kept for people who read.
Children have a *corner* of their own with low shelves.
The library opens at 9 on most days of the week.
Above the door stands the line "come in and read".
You return a book through a *slot* beside the entrance.
The library also has *maps* and old newspapers.
@Tell a visitor about the village market|market|Market Day
The market is held on the *square* every Saturday.
Farmers bring *apples* and fresh greens from the valley.
One stall of the market sells *cheese* made from goat milk.
The first *traders* arrive before sunrise.
A man with a *fiddle* plays near the well.
By 2 in the afternoon most stalls are empty.
People come to the market for *gossip* as much as for food.
The sign at the gate reads "pay what is fair".
@Explain how a bicycle works|bicycle|The Bicycle
A bicycle is driven by a *chain* that turns the rear wheel.
The rider pushes the *pedals* with both feet.
The *brakes* press against the rim to slow the wheel.
Low *gears* make a bicycle easier to ride uphill.
The *tyres* should be filled with air every few weeks.
Many a bicycle weighs about 15 kilograms.
A *bell* on the handlebar warns people on foot.
My uncle calls his bicycle "the patient horse".
@Describe a beehive for a young reader|hive|Inside the Hive
A hive is the home of one *queen* and many workers.
The bees build cells of *wax* with six sides.
The bees store *honey* in the hive for the winter.
A beekeeper uses *smoke* to calm the bees.
Guards watch the *entrance* and smell each visitor.
In June a strong hive may hold 50,000 bees.
The *workers* dance to show where flowers grow.
An old rhyme calls the hive "a town of wings".
@Explain how to plant a tomato|tomato|Growing a Tomato
A tomato plant needs a *sunny* place and good soil.
Put the young plant deep into a *pot* or bed.
A wooden *stake* holds the tomato upright.
Water the *roots* and keep the leaves dry.
Pinch out small *shoots* between stem and branch.
A tomato plant should stand 50 centimetres from the next.
Ripe *fruit* comes off with a gentle twist.
My neighbour calls her best plant "the red giant".
@Describe a railway station at dawn|station|The Station at Dawn
The station is almost empty before the first *train*.
A *porter* sweeps the long platform.
The big *clock* over the hall shows half past five.
Steam rises from a *kettle* in the small café.
The station smells of *coffee* and cold iron.
The first train leaves from platform 3.
A *pigeon* walks between the tracks.
A board in the station says "mind the step".
@Explain what a compass is|compass|The Compass
A compass has a *needle* that can turn freely.
The needle lines up with the *magnetic* field of the Earth.
Hikers use a compass together with a *map*.
Keep a compass away from *iron*, which pulls the needle aside.
The dial of a compass is divided into 360 degrees.
*Sailors* used one long before there was radio.
A compass still works in *fog* and at night.
Our guide said "trust the needle and not your nose".
@Describe winter in a mountain village|winter|Winter in the Village
In winter the *snow* lies as high as the fences.
The *baker* brings bread on a sledge.
Smoke from each *chimney* goes straight up.
In winter the *school* starts an hour later.
The road over the *pass* is closed for months.
One night it was 25 degrees below zero.
Children skate on the *pond* behind the mill.
The old people call winter "the long evening".
@Explain how to make a cup of tea|tea|A Cup of Tea
Good tea begins with fresh cold *water*.
Bring the *kettle* to the boil.
Warm the *pot* before the leaves go in.
Black tea should stand for 4 minutes.
Green tea likes water that has *cooled* a little.
Pour the *milk* in last if you want any.
A small *sieve* holds back the leaves.
My aunt says "tea does not like to be hurried".
@Describe a carpenter's workshop|workshop|The Workshop
The workshop smells of *pine* and glue.
A heavy *bench* stands under the window.
*Saws* hang in a row on the wall.
The floor of the workshop is covered with *shavings*.
Each *drawer* holds screws of one size.
The oldest plane in the workshop is 120 years old.
A *stove* in the corner keeps the glue warm.
On the door is written "measure twice".
@Explain how a kite flies|kite|How a Kite Flies
A kite needs a steady *wind* to stay up.
The *string* holds the sail at a slant.
A long *tail* keeps the kite from spinning.
The *frame* is made of two thin sticks.
Let the kite rise in an open *field*.
Stay 100 metres away from any power line.
*Paper* or light cloth can be used for the sail.
Children on our street say "the kite is fishing for clouds".
@Describe a harbour for someone who has never seen one|harbour|The Harbour
The harbour is a calm place behind a stone *wall*.
Fishing *boats* come in with the tide.
*Gulls* wait for scraps on the roof.
A tall *crane* lifts boxes from the ships.
*Ropes* as thick as an arm lie on the quay.
The harbour is 12 metres deep at the pier.
At night green and red *lamps* mark the way in.
Above the harbour office stands "safe home".
@Explain why leaves matter to a tree|tree|Leaves and the Tree
A tree makes *sugar* in its leaves.
Green leaves need *sunlight*, air and water.
Each leaf has tiny *pores* on its lower side.
In autumn many a tree drops its leaves to save *water*.
The *veins* carry sap in and out of the leaf.
A large tree may have 200,000 leaves.
Fallen leaves feed *worms* in the soil.
A forester once called the tree "a slow fountain".
@Describe a day at a small farm|farm|A Day at the Farm
The day on the farm begins when the *rooster* crows.
The *cows* are milked before breakfast.
Eggs are gathered in a flat *basket*.
The farm has one old *tractor* with a green hood.
At noon everyone eats *soup* at the long table.
There are 14 sheep on the hill.
In the evening the *barn* is locked.
The farmer says "the farm never takes a holiday".
@Explain how a sundial tells the time|sundial|The Sundial
A sundial shows the hour by a *shadow*.
The slanted rod is called a *gnomon*.
The rod of a sundial points to the *pole* of the sky.
At *noon* the shadow is shortest.
A sundial is of no use under *clouds*.
On many days a clock and a shadow differ by 10 minutes.
The *dial* can be cut in stone or brass.
An old sundial bears the words "only bright hours count".
@Describe an orchestra to a friend|orchestra|The Orchestra
An orchestra is a large group of *musicians*.
The *violins* sit on the left side of the stage.
The *conductor* shows the beat with a thin stick.
*Drums* and cymbals stand at the back.
The *oboe* gives the note for tuning.
A full orchestra may have 90 players.
Before the concert the orchestra makes a soft *noise*.
Our teacher calls the orchestra "one very big voice".
@Explain how to read a train timetable|timetable|Reading a Timetable
A timetable lists *trains* in columns.
The *stations* stand in order on the left.
Find your *station* and follow the row.
A small *letter* shows that a train runs on some days only.
The timetable uses the *clock* of 24 hours.
The time 18:30 means half past six in the evening.
*Platforms* are often printed beside the time.
At the foot of the timetable stands "check before you travel".
@Describe a desert night|desert|Night in the Desert
At night the desert grows *cold* within an hour.
The *stars* seem very near.
A *fox* runs over the sand without a sound.
The *dunes* look blue under the moon.
A small *fire* is seen from far away.
The desert may cool by 30 degrees after sunset.
The *wind* draws thin lines in the sand.
Travellers call the desert "the sea that stands still".
@Explain what an index in a book is for|index|The Index of a Book
An index lists the *topics* of a book.
The place for such a list is at the *end* of the volume.
The entries of an index follow the *alphabet*.
Each entry gives the *pages* where the topic occurs.
A good index saves the *reader* much time.
An index of 10 pages is common in a thick book.
*Names* are listed with the family name first.
A printer called the index "the back door of the book".
@Describe a pond in spring|pond|The Pond in Spring
In spring the pond is full of *frogs*.
Yellow *irises* stand along the edge.
A *heron* waits on one leg in the reeds.
Small *beetles* row across the water.
The pond is fed by a cold *spring* under the hill.
In the middle the pond is 2 metres deep.
*Ducks* lead their young through the lilies.
The children named the pond "the green mirror".
@Explain how to clean a window|window|A Clean Window
Dust the *frame* of the window first.
Mix warm water with a little *soap*.
Wash the glass with a soft *sponge*.
Pull the water off with a rubber *blade*.
Dry the edges of the window with a *cloth*.
A window of 1 square metre takes about 3 minutes.
Do not work in full *sun* since streaks will dry fast.
My grandmother said "a clean window makes a new room".
@Describe a violin to someone who cannot see it|violin|The Violin
A violin is a hollow box of thin *wood*.
Four *strings* run along its neck.
The player draws a *bow* over the strings.
The *bridge* carries the sound to the body.
The top of a violin is mostly *spruce*.
A full-size violin is about 59 centimetres long.
The *chin* holds the body against the shoulder.
Some call the violin "a box that sings".
@Explain how a canal lock works|lock|The Canal Lock
A lock lifts or lowers *boats* on a canal.
There is a strong *gate* at each end.
The *boat* enters the lock, and the gate is closed.
Water flows in through small *valves*.
When the *levels* are equal, the upper gate opens.
A common lock lifts a boat by 3 metres.
No *pump* is needed, since water runs downhill.
Boatmen call the lock "a stair made of water".
@Describe a glacier for a school magazine|glacier|The Glacier
A glacier is a slow river of *ice*.
Such ice forms where *snow* piles up for many years.
The glacier carries *stones* on its back.
Deep cracks in a glacier are called *crevasses*.
A cold *stream* flows out at the foot of the ice.
Our glacier moves 40 metres in a year.
The ice looks *blue* in the caves.
The guide called the glacier "a patient plough".
@Explain how to fold a paper boat|boat|The Paper Boat
A paper boat needs one oblong *sheet* of paper.
Fold the sheet in *half* from top to bottom.
Turn both upper *corners* to the middle.
Fold the lower *edges* up on each side.
Pull the folded *hat* open and press it flat.
The boat is finished after 7 folds.
Set the boat on a bowl of *water*.
My sister wrote "good wind" on the side of her boat.
@Describe the kitchen of an old inn|kitchen|The Kitchen of the Inn
The kitchen has a wide *hearth* of grey stone.
Copper *pans* hang from the beam.
The *cook* stirs a soup of leeks.
A *cat* sleeps on the flour chest.
*Herbs* dry above the kitchen window.
The kitchen table is 4 metres long.
In the *cellar* below stand barrels of cider.
A tile in the kitchen says "hunger is the best cook".
@Explain how a thermometer works|thermometer|The Thermometer
A thermometer shows how *warm* or cold it is.
The liquid in the *tube* grows when it is heated.
Coloured *alcohol* is often used today.
A *scale* beside the tube gives the degrees.
Hang an outdoor thermometer in the *shade*.
Water freezes at 0 degrees on the usual scale.
A digital thermometer has a small *sensor*.
The old shop label reads "handle the thermometer with care".
@Describe an old bridge over a river|bridge|The Old Bridge
The bridge has five round *arches*.
The *stones* were cut in the quarry nearby.
A small *chapel* stands in the middle of the bridge.
*Swallows* nest under the bridge in summer.
The *river* runs fast between the piers.
The bridge was finished in 1784.
*Carts* had to pay a coin at the gate.
People here say "cross the bridge and make a wish".
@Explain how to store apples for the winter|apples|Apples in Winter
Pick the apples before the first *frost*.
Sort out apples with a *bruise* and eat them first.
Lay the fruit in a flat *crate* so that nothing touches.
A cool *cellar* is the best place.
Keep the fruit away from *potatoes*, which change the taste.
The room should have about 4 degrees.
Look at the apples once a *week*.
My father writes "eat soon" on one of the boxes.
@Describe a thunderstorm over a lake|storm|Storm over the Lake
The storm came from behind the *hills*.
First a *wind* ran over the water.
The *sky* turned the colour of slate.
*Lightning* lit the far shore.
The *sailors* pulled their boats out in time.
The storm was over in 20 minutes.
After the storm a *rainbow* stood over the pier.
The ferryman said "the lake wanted a wash".
@Explain what a map scale means|scale|The Scale of a Map
The scale links *distance* on paper to distance on the ground.
A scale of 1 to 50,000 is common for *hikers*.
At 1 to 50,000 each 2 centimetres stand for one kilometre.
A *bar* printed on the sheet helps to measure.
A *large* scale shows more detail.
Use a *string* to follow a winding road.
*Cyclists* often choose a smaller scale.
Our teacher says "read the scale before the road".
@Describe a bakery early in the morning|bakery|The Bakery at Five
The bakery is bright while the *street* is dark.
*Trays* of rolls stand by the door.
The baker has *flour* up to the elbows.
A *radio* plays softly in the bakery.
The *oven* has been hot since midnight.
By 6 the first rolls are in the basket.
A *dog* waits on the step for crumbs.
On the bakery wall hangs a card with "patience and heat".
@Explain how a water wheel drives a mill|mill|The Water Mill
A mill stands beside a *stream*.
The *water* pushes the paddles of the wheel.
A thick *axle* carries the turning into the mill.
Wooden *gears* make the stone turn faster.
The upper *stone* grinds the grain to flour.
The wheel of our mill is 5 metres high.
A small *gate* stops the water at night.
The miller said "the stream never asks for wages".
@Describe a botanical garden in a few lines|garden|The Garden
The garden lies behind an iron *gate*.
A *greenhouse* holds palms and vanilla.
Each plant has a small *label*.
The *roses* are in flower from May to October.
A *gardener* answers questions at noon.
The garden has 8,000 kinds of plants.
Old *benches* stand under the limes.
A stone in the garden says "walk slowly".
@Explain how to tie a parcel with string|parcel|Tying a Parcel
Wrap the parcel in strong brown *paper*.
Lay the *string* along the longer side.
Turn the string at the *middle* of the parcel and cross it.
A second person can hold the *knot* with a finger.
Cut the ends with *scissors*.
A parcel of 2 kilograms needs thick string.
Write the *address* on the flat side.
The clerk likes to write "handle gently" on each parcel.
@Describe a chess club evening|chess|The Chess Club
The chess club meets in the back room of a *café*.
*Boards* are set up on eight tables.
The *youngest* player is a girl with red boots.
A wooden *clock* ticks beside each game.
The *winner* of a chess game puts the pieces away.
The club has 24 members.
*Beginners* are shown the moves of chess by an old sailor.
A note on the door says "chess and soup on Friday".
@Explain how to write a shell command that lists files|command|Listing Files|ls -l
The command for a list of *files* is short.
Type the letters in a *terminal* and press the return key.
The long form shows the *size* of each file.
The command also shows the *date* of the last change.
Hidden *names* begin with a dot.
Give a *folder* after the command to look elsewhere.
The list can be sorted by *time* as well.
One manual calls this command "the first to learn".
@Explain how to print a greeting in Python|program|A Greeting in Python|print("hello")
The program has a single *line*.
The *function* writes a text on the screen.
The text stands between *quotes*.
Save the program in a *file* of its own.
Start the program from the *terminal*.
A *bracket* that is missing leads to an error.
Version 3 of the language needs the brackets.
Many courses call this "the smallest program".
@Explain how a CSV file stores a table|table|A Table as Text|name;age
A CSV file holds a table as plain *text*.
Each *line* is one row of the table.
A *comma* or semicolon parts the cells.
The first row often has the *headings*.
Cells with a comma are put in *quotes*.
A table of 1,000 rows is still a small file.
Any *editor* can open such a table.
A colleague calls such text "the table that everyone can read".
@Explain how to rename a file on the command line|file|Renaming a File|mv old.txt new.txt
A file is renamed by *moving* it to a new name.
Give the old *name* first and the new one second.
The *folder* of the file can change in the same step.
An existing file of that name may be *lost*.
A careful option *asks* before it writes over a file.
The *contents* stay exactly as they were.
The step takes less than 1 second.
The manual has a section with the title "moving things".
@Explain how a loop works in a program|loop|The Loop|for n in range(3): print(n)
A loop runs the same *steps* several times.
A *counter* often tells how many rounds are left.
The *body* of the loop is indented.
A loop without an *exit* never stops.
Put slow *work* in front of the loop where you can.
A loop of 3 rounds is easy to follow by hand.
*Lists* are often read with a loop.
Our trainer calls the loop "a merry-go-round with a door".
@Explain what a web form does|form|The Web Form|<form action="/send">
A form lets a visitor send *data* to a site.
Each *field* of the form has a label.
A *button* sends the form away.
The *server* checks what has arrived.
An empty *field* can be marked as required.
A form with 5 fields is filled in quickly.
Never send a *password* without a safe link.
A good form ends with the line "all fields are saved".
@Explain how to search text with a pattern|pattern|Searching with a Pattern|grep -n "tea" list.txt
A pattern describes the *text* that you look for.
A *dot* in a pattern stands for any character.
A *star* means that the part before it may be repeated.
*Brackets* give a choice of letters.
Test the pattern on a *sample* first.
The search shows 3 lines of the sample.
A *backslash* takes away the special meaning.
Some people call a pattern "a net for words".
@Explain how to undo a change in version control|change|Undoing a Change|git restore notes.txt
A change that is not yet saved can be *undone*.
Name the *file* in the command.
Look at the *difference* before you undo a change.
A saved change is taken back by a *new* commit.
The *history* keeps the old state.
It is wise to wait 1 minute and think.
*Colleagues* should know of a change that is taken back.
The team has a rule that says "small steps".
@Describe a walk through an autumn forest|forest|The Autumn Forest
The forest floor is soft with *leaves*.
*Mushrooms* stand under the birches.
A *jay* calls from an oak.
The *path* follows a small stream.
*Mist* hangs between the trunks until noon.
The forest is crossed in 2 hours.
At the edge of the forest stands a *hut*.
A board at the forest gate reads "leave only footprints".
@Explain how soap cleans greasy hands|soap|Why Soap Cleans
Soap helps *water* to carry off fat.
One end of a soap molecule likes *fat*.
Another part of the molecule likes *water* and pulls the fat along.
*Rubbing* breaks the dirt into small drops.
The *foam* is not what does the cleaning.
Wash your hands with soap for 20 seconds.
*Rinse* the hands well at the end.
A nurse calls soap "the cheapest medicine".
@Describe a museum of clocks|museum|The Museum of Clocks
The museum has a *clock* in every room.
A *tower* clock turns in the entrance hall.
The *guide* winds one of the clocks each day.
Small *watches* lie behind glass.
The museum shop sells *postcards*.
The oldest piece of the museum is from 1530.
At *noon* all the bells ring.
Over the stairs of the museum stands "take your time".
@Explain how to choose a good pair of walking shoes|shoes|Walking Shoes
Good shoes leave room for the *toes*.
Try shoes on in the *evening* when feet are larger.
Wear the *socks* that you will walk in.
The *heel* should not slip.
A firm *sole* is better on stones.
Wear new shoes for 30 minutes at home first.
*Leather* needs wax now and then.
The shoemaker said "your feet will tell the truth".
@Describe a night train journey|train|The Night Train
The train leaves the *city* after dark.
The *guard* brings a blanket and a cup.
The *berths* are narrow but clean.
*Villages* slide past like small lamps.
At midnight the train stops at a *border*.
The train is due at 7 in the morning.
*Breakfast* comes on a tin tray.
My neighbour on the train said "sleep is the best ticket".
@Explain how to care for a house plant|plant|A House Plant
Most house plants like *light* without hot sun.
Feel the *soil* before you water the plant.
Too much *water* makes the roots rot.
Turn the *pot* a little every week.
Wipe *dust* off the leaves.
Move the plant to a new pot after 2 years.
Yellow *leaves* can mean many things.
A gardener told me "a plant dies of love more often than of thirst".
"""

_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six")
_OPENINGS: Final = (
    "Here are the main points.",
    "A few plain remarks give a first picture.",
    "The following lines keep to what matters.",
    "This is the short form of a longer story.",
    "What follows can be read in a minute.",
    "These remarks are meant for a first look.",
    "The most useful things are told here.",
    "A short account is given below.",
)
_STARTS: Final = ("In short", "To begin with", "Picture this", "First of all")
_ENDS: Final = ("That is all.", "So much for today.", "The rest is practice.", "This is the whole story.")

# How the question asks for a kind and how the criterion states it; {0} is the value, {1} a second one.
_ASKS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "contains": (
        ('use the word "{0}"', 'mention the word "{0}"', 'let the word "{0}" appear'),
        'The answer contains the word "{0}".',
    ),
    "contains_all": (
        ('use both the word "{0}" and the word "{1}"', 'bring in the words "{0}" and "{1}"'),
        'The answer contains the word "{0}" and the word "{1}".',
    ),
    "avoids": (
        ('do not use the word "{0}"', 'leave out the word "{0}"', 'do without the word "{0}"'),
        'The answer does not contain the word "{0}".',
    ),
    "mentions_at_least": (
        ('use the word "{0}" at least {1} times', 'mention the word "{0}" {1} times or more'),
        'The word "{0}" occurs at least {1} times in the answer.',
    ),
    "exact_bullets": (
        ("write exactly {0} bullet points", "include a list of exactly {0} bullet points"),
        "The answer has exactly {0} bullet points.",
    ),
    "numbered_list": (
        ("write a numbered list of exactly {0} items", "include a numbered list of exactly {0} items"),
        "The answer has a numbered list of exactly {0} items.",
    ),
    "has_heading": (
        ("add a Markdown heading", "include a heading that is marked with #"),
        "The answer has a Markdown heading.",
    ),
    "bold_title": (
        ("put a title in bold on a line of its own", "give the text a bold title on its own line"),
        "The answer has a title in bold on a line of its own.",
    ),
    "has_code_block": (
        ("show the code in a fenced code block", "include a code block between triple backticks"),
        "The answer has a fenced code block.",
    ),
    "max_words": (("use at most {0} words", "stay within {0} words"), "The answer has at most {0} words."),
    "min_words": (("use at least {0} words", "write {0} words or more"), "The answer has at least {0} words."),
    "max_sentences": (
        ("use at most {0} sentences", "do not go beyond {0} sentences"),
        "The answer has at most {0} sentences.",
    ),
    "exact_sentences": (("write exactly {0} sentences",), "The answer has exactly {0} sentences."),
    "exact_paragraphs": (
        ("write exactly {0} paragraphs", "divide the text into exactly {0} paragraphs"),
        "The answer has exactly {0} paragraphs.",
    ),
    "has_digits": (
        ("give at least one number in digits", "include a number that is written in digits"),
        "The answer gives a number in digits.",
    ),
    "no_digits": (("do not use any digits", "write without any digits"), "The answer contains no digits."),
    "has_quotation": (
        ("include a saying in double quotation marks", "quote a phrase in double quotation marks"),
        "The answer has a phrase in double quotation marks.",
    ),
    "no_commas": (("do not use commas", "write without commas"), "The answer contains no commas."),
    "no_exclamation": (
        ("do not use exclamation marks", "keep clear of exclamation marks"),
        "The answer contains no exclamation mark.",
    ),
    "all_lowercase": (("write in lower case only",), "The answer contains no capital letter."),
    "starts_with": (('begin with the words "{0}"',), 'The answer begins with the words "{0}".'),
    "ends_with": (('end with the sentence "{0}"',), 'The answer ends with the sentence "{0}"'),
}


@dataclass(frozen=True)
class Topic:
    """Hold one topic: ``marked`` gives for each sentence its marked word, empty where there is none."""

    task: str
    word: str
    title: str
    code: str
    sentences: tuple[str, ...]
    marked: tuple[str, ...]


@dataclass
class _Form:
    """Hold how a text is laid out around its sentences."""

    bullets: int = 0
    numbers: int = 0
    heading: bool = False
    bold: bool = False
    code: bool = False
    paragraphs: int = 1
    lower: bool = False
    opening: str = ""
    start: str = ""
    end: str = ""


@dataclass
class _Draft:
    """Hold the sentences and the form of the answer, and the checks with the truth that is wanted for each."""

    used: list[int]
    form: _Form
    checks: list[dict[str, object]] = field(default_factory=list)
    wanted: list[bool] = field(default_factory=list)


def topic_list() -> list[Topic]:
    """List the topics in the order in which cases take them."""
    topics = []
    for block in _TOPICS.strip().lstrip("@").split("\n@"):
        head, *lines = block.strip().split("\n")
        task, word, title, *code = head.split("|", 3)
        found = [re.search(r"\*(\w+)\*", line) for line in lines]
        marked = tuple(match[1] if match else "" for match in found)
        topics.append(
            Topic(task, word, title, code[0] if code else "", tuple(x.replace("*", "") for x in lines), marked)
        )
    return topics


def _render(topic: Topic, used: list[int], form: _Form) -> str:
    """Assemble a text: an opening, a title, prose or a list, code, further prose."""
    rest = [topic.sentences[number] for number in used]
    blocks: list[str] = []
    if form.start:
        first = form.opening or rest.pop(0)
        first = f"{form.start}: {first[0].lower()}{first[1:]}"
        if form.opening or form.heading or form.bold or form.bullets or form.numbers:
            blocks.append(first)
        else:
            rest.insert(0, first)
    elif form.opening:
        blocks.append(form.opening)
    if form.heading:
        blocks.append(f"## {topic.title}")
    if form.bold:
        blocks.append(f"**{topic.title}**")
    count = form.bullets or form.numbers
    if count:
        items, rest = rest[:count], rest[count:]
        marks = ["-" if form.bullets else f"{number}." for number in range(1, count + 1)]
        blocks.append("\n".join(f"{mark} {item}" for mark, item in zip(marks, items, strict=True)))
    if form.code:
        if not count:
            half = (len(rest) + 1) // 2
            blocks.append(" ".join(rest[:half]))
            rest = rest[half:]
        blocks.append(f"```\n{topic.code}\n```")
    parts = max(1, form.paragraphs)
    size = -(-len(rest) // parts)
    blocks += [" ".join(rest[at : at + size]) for at in range(0, len(rest), size)] if rest else []
    if form.end:
        blocks[-1] += f" {form.end}"
    text = "\n\n".join(blocks)
    return text.lower() if form.lower else text


def _form(rng: random.Random, topic: Topic, kinds: Mapping[str, bool], used: int) -> _Form:
    """Lay out an answer so that the structural kinds come out as wanted (the list lengths are fitted afterwards)."""
    form = _Form()
    if "exact_bullets" in kinds:
        form.bullets = rng.choice([0, 2, 3, 4, 5]) if not kinds["exact_bullets"] else rng.randint(3, 5)
    elif "numbered_list" in kinds:
        form.numbers = rng.choice([0, 2, 3, 4, 5]) if not kinds["numbered_list"] else rng.randint(3, 5)
    form.bullets, form.numbers = min(form.bullets, used), min(form.numbers, used)
    form.heading = kinds.get("has_heading", False)
    form.bold = kinds.get("bold_title", False)
    form.code = kinds.get("has_code_block", False)
    titled = form.heading or form.bold
    if form.bullets or form.numbers or (titled and rng.random() < 0.75):
        form.opening = rng.choice(_OPENINGS)
    if kinds.get("exact_paragraphs"):
        form.paragraphs = rng.choice([2, 3])
    elif not (form.bullets or form.numbers or form.code) and rng.random() < 0.3:
        form.paragraphs = 2
    form.lower = kinds.get("all_lowercase", False)
    return form


def _has(text: str, word: str) -> bool:
    return verify({"kind": "contains", "value": word}, text)


def _askable(topic: Topic, draft: _Draft, text: str) -> tuple[list[str], list[str]]:
    """List the words that a check may ask for, those in the text and the others."""
    taken = {str(value).lower() for check in draft.checks for value in _values(check)} | {topic.word}
    # A word of the task itself is no fair thing to ask for or to forbid.
    words = [word for word in dict.fromkeys(topic.marked) if word and word.lower() not in taken]
    words = [word for word in words if word.lower() not in topic.task.lower()]
    inside = [word for word in words if _has(text, word)]
    return inside, [word for word in words if word not in inside]


def _check(rng: random.Random, topic: Topic, draft: _Draft, kind: str, wanted: bool) -> dict[str, object] | None:
    """Choose the parameters of a check so that it is likely to come out as wanted for the drafted answer."""
    text = _render(topic, draft.used, draft.form)
    inside, outside = _askable(topic, draft, text) if kind in {"contains", "avoids", "contains_all"} else ([], [])
    value: object
    match kind:
        case "contains" | "avoids":
            pool = inside if wanted == (kind == "contains") else outside
            return {"kind": kind, "value": rng.choice(pool).lower()} if pool else None
        case "contains_all":
            if len(inside) < 2 or (not wanted and not outside):
                return None
            pair = rng.sample(inside, 2) if wanted else [rng.choice(inside), rng.choice(outside)]
            rng.shuffle(pair)
            return {"kind": kind, "value": [word.lower() for word in pair]}
        case "mentions_at_least":
            count = len(re.findall(rf"\b{topic.word}\b", text, re.IGNORECASE))
            value = rng.choice([count, max(2, count - 1)]) if wanted else max(2, count + 1)
            return {"kind": kind, "value": topic.word, "times": value} if 2 <= int(str(value)) <= 5 else None
        case "exact_bullets" | "numbered_list":
            count = draft.form.bullets or draft.form.numbers
            value = count if wanted else rng.choice([number for number in (3, 4, 5) if number != count])
        case "max_words":
            value = rng.choice([150, 160, 180, 200]) if wanted else rng.choice([25, 30, 35])
        case "min_words":
            value = rng.choice([20, 25, 30])
        case "max_sentences":
            value = rng.choice([14, 15, 16]) if wanted else rng.choice([3, 4])
        case "exact_sentences":
            value = len(draft.used) + bool(draft.form.opening) if wanted else rng.choice([3, 4])
        case "exact_paragraphs":
            value = draft.form.paragraphs if wanted else 4 - draft.form.paragraphs
        case "starts_with":
            value = rng.choice(_STARTS)
            draft.form.start = str(value) if wanted else ""
        case "ends_with":
            value = rng.choice(_ENDS)
            draft.form.end = str(value) if wanted else ""
        case _:
            return {"kind": kind}
    return {"kind": kind, "value": value}


def _values(check: Mapping[str, object]) -> list[object]:
    value = check.get("value")
    return value if isinstance(value, list) else [] if value is None else [value]


def _close(check: Mapping[str, object], text: str) -> bool:
    """Tell whether a limit is missed so narrowly that a reader who counts in another way might call it kept."""
    slack = {"max_words": 5, "max_sentences": 1, "exact_sentences": 1}.get(str(check["kind"]))
    if slack is None:
        return False
    kind = str(check["kind"]).replace("exact", "max")
    return verify({"kind": kind, "value": int(str(check["value"])) + slack}, text)


def _reference(rng: random.Random, topic: Topic, checks: list[dict[str, object]]) -> str | None:
    """Search for a text of 20 to 90 words that meets every check."""
    by_kind = {str(check["kind"]): check for check in checks}

    def number(kind: str) -> int:
        return int(str(by_kind[kind]["value"])) if kind in by_kind else 0

    for _ in range(80):
        form = _Form(
            bullets=number("exact_bullets"),
            numbers=number("numbered_list"),
            heading="has_heading" in by_kind,
            bold="bold_title" in by_kind,
            code="has_code_block" in by_kind,
            paragraphs=max(1, number("exact_paragraphs")),
            lower="all_lowercase" in by_kind,
            start=str(by_kind["starts_with"]["value"]) if "starts_with" in by_kind else "",
            end=str(by_kind["ends_with"]["value"]) if "ends_with" in by_kind else "",
        )
        count = form.bullets or form.numbers
        if (count or form.heading or form.bold) and rng.random() < 0.5:
            form.opening = rng.choice(_OPENINGS)
        size = rng.randint(max(2, count + bool(form.start and not form.opening)), len(topic.sentences))
        text = _render(topic, sorted(rng.sample(range(len(topic.sentences)), size)), form)
        if 20 <= len(text.split()) <= 90 and all(verify(check, text) for check in checks):
            return text
    return None


def _draw(rng: random.Random, topic: Topic, fragile: str | None, good: bool) -> dict[str, bool]:
    """Draw three to five kinds, at most one from each group that does not mix, and the truth wanted for each."""
    groups = [
        ["contains"],
        ["avoids"],
        ["mentions_at_least"],
        ["contains_all"],
        ["exact_bullets", "numbered_list"],
        ["has_heading", "bold_title"],
        ["max_words", "max_sentences", "min_words"],
        ["has_digits", "has_quotation", "no_exclamation"],
    ]
    weights = [5, 5, 4, 3, 6, 5, 3, 3]
    if topic.code:
        groups.append(["has_code_block"])
        weights.append(12)
    if fragile in {"exact_paragraphs", "exact_sentences", "all_lowercase"}:
        groups[4:6] = []
        weights[4:6] = []
    if fragile == "exact_paragraphs" and topic.code:
        groups.pop()
        weights.pop()
    if fragile == "exact_sentences":
        groups[4] = ["max_words", "min_words"]
    if fragile in {"no_digits", "exact_sentences"}:
        groups[-1 - bool(topic.code)] = ["no_exclamation", "has_quotation"]
    count = rng.choice([3, 3, 4, 4, 5])
    chosen: list[str] = [fragile] if fragile else []
    while len(chosen) < count:
        place = rng.choices(range(len(groups)), weights)[0]
        weights[place] = 0
        chosen.append(rng.choice(groups[place]))
    rng.shuffle(chosen)
    if "max_sentences" in chosen and {"exact_bullets", "numbered_list", "exact_paragraphs"} & set(chosen):
        chosen[chosen.index("max_sentences")] = "max_words"
    always = {"has_digits", "has_quotation", "no_exclamation", "min_words"}
    truth = {kind: True for kind in chosen if kind in always}
    open_ = [kind for kind in chosen if kind not in always]
    most = count if good else {3: 2, 4: 2, 5: 3}[count]
    least = count if good else 1
    room = max(0, rng.randint(least, most) - len(truth))
    for kind in rng.sample(open_, len(open_)):
        truth[kind] = room > 0
        room -= 1
    return {kind: truth[kind] for kind in chosen}


def _spell(kind: str, value: object) -> str:
    """Write small counts as words."""
    if isinstance(value, int) and kind not in {"max_words", "min_words"} and value < len(_NUMBERS):
        return _NUMBERS[value]
    return str(value)


def _ask(rng: random.Random, topic: Topic, checks: list[dict[str, object]]) -> tuple[str, list[str]]:
    """Put the constraints into the question, and into one line for each criterion."""
    asks: list[str] = []
    lines: list[str] = []
    for check in checks:
        kind = str(check["kind"])
        values = [_spell(kind, value) for value in [*_values(check), *([check["times"]] if "times" in check else [])]]
        forms, line = _ASKS[kind]
        asks.append(rng.choice(forms).format(*values))
        lines.append(line.format(*values))
    asks = [ask[0].upper() + ask[1:] if number in (0, 2, 4) else ask for number, ask in enumerate(asks)]
    pairs = [" and ".join(asks[at : at + 2]) for at in range(0, len(asks), 2)]
    return ". ".join([topic.task, *pairs]).replace('.". ', '." ') + ("" if pairs[-1].endswith('."') else "."), lines


_FRAGILE: Final = (
    "no_commas", "no_digits", "all_lowercase", "exact_sentences", "exact_paragraphs", "starts_with", "ends_with"
)  # fmt: skip


def rubric_case(rng: random.Random, topic: Topic, turn: int) -> dict[str, object] | None:
    """Draw the case of a turn, without its id; None where the topic cannot carry the drawn constraints."""
    # One case in six has a kind that an added sentence can turn; in one of four of these it is met.
    fragile = _FRAGILE[turn // 6 % len(_FRAGILE)] if turn % 6 == 1 else None
    good = turn % 14 == 4
    kinds = _draw(rng, topic, fragile, good)
    if fragile and not good:
        kinds[fragile] = turn % 24 == 1
    used = sorted(rng.sample(range(len(topic.sentences)), rng.randint(4, 6)))
    draft = _Draft(used, _form(rng, topic, kinds, len(used)))
    for kind, wanted in kinds.items():
        check = _check(rng, topic, draft, kind, wanted)
        if check is None:
            return None
        draft.checks.append(check)
        draft.wanted.append(wanted)
    text = _render(topic, used, draft.form)
    met = [verify(check, text) for check in draft.checks]
    if met != draft.wanted or not 30 <= len(text.split()) <= 90:
        return None
    if any(_close(check, text) for check, one in zip(draft.checks, met, strict=True) if not one):
        return None
    reference = _reference(rng, topic, draft.checks)
    if reference is None or reference == text:
        return None
    points = [rng.choice([1, 1, 1, 2]) for _ in met]
    share = sum(point for point, one in zip(points, met, strict=True) if one) / sum(points)
    if not good and not 0 < share <= 0.7:
        return None
    question, lines = _ask(rng, topic, draft.checks)
    names = [f"c{number}" for number in range(1, len(met) + 1)]
    return {
        "question": question,
        "answers": [{"id": "only", "text": text}],
        "criteria": [
            {"id": name, "text": line, "points": point, "check": check}
            for name, line, point, check in zip(names, lines, points, draft.checks, strict=True)
        ],
        "met": {"only": dict(zip(names, met, strict=True))},
        "reference": reference,
        "tags": {"category": "instruction"},
    }


def rubric_cases(count: int, seed: int) -> list[dict[str, object]]:
    """Make so many rubric cases; the same arguments give the same cases, and all questions are distinct.

    The topics take turns. One case in fourteen meets every criterion; the others meet at least one and have at most
    0.7 of the points. The ids are ``rubric-001`` onwards.

    >>> case = rubric_cases(1, 3)[0]
    >>> sorted(case)
    ['answers', 'criteria', 'id', 'met', 'question', 'reference', 'tags']
    """
    rng = random.Random(seed)
    topics = topic_list()
    cases: list[dict[str, object]] = []
    seen: set[object] = set()
    tries = 0
    while len(cases) < count:
        # A topic whose sentences cannot carry the drawn constraints gives way to another one.
        topic = topics[len(cases) % len(topics)] if tries < 150 else rng.choice(topics)
        case = rubric_case(rng, topic, len(cases))
        tries += 1
        if case is not None and case["question"] not in seen:
            tries = 0
            seen.add(case["question"])
            cases.append({"id": f"rubric-{len(cases) + 1:03d}", **case})
    return cases
