"""The words of the built-in corpus, as plain data: English, Vietnamese, and what goes with what.

One block per part of speech. A block is a text of lines `kinds: entry; entry; ...` whose fields are separated by `|`.
Irregular English forms stand after `/`. The readers of these blocks are in `grammar_words.py`.
"""

# kinds: singular[/plural] | classifier | Vietnamese noun
NOUNS = """
animal pet: cat|con|mèo; dog|con|chó; bird|con|chim; hen|con|gà mái; duck|con|vịt; mouse/mice|con|chuột; rabbit|con|thỏ
animal pet: monkey|con|khỉ; snake|con|rắn; frog|con|ếch
animal: cow|con|bò; buffalo/buffaloes|con|trâu; pig|con|lợn; horse|con|ngựa; elephant|con|voi; tiger|con|hổ; goat|con|dê
animal: bear|con|gấu; wolf/wolves|con|sói
furniture surface: table|cái|bàn; chair|cái|ghế; bed|cái|giường; cupboard|cái|tủ; shelf/shelves|cái|kệ
furniture: lamp|cái|đèn; mirror|cái|gương
furniture surface: bench/benches|cái|ghế dài; sofa|cái|ghế sô pha; desk|cái|bàn làm việc
tool: knife/knives|con|dao; spoon|cái|thìa; bowl|cái|bát; plate|cái|đĩa; bottle|cái|chai; basket|cái|giỏ
tool: key|chiếc|chìa khóa; umbrella|cái|ô; ladder|cái|thang; hammer|cái|búa; pot|cái|nồi; box/boxes|cái|hộp
tool: bag|cái|túi
tool: blanket|cái|chăn; pillow|cái|gối; suitcase|chiếc|va li; wallet|chiếc|ví; ball|quả|bóng; doll|con|búp bê
tool: kite|con|diều; pencil|cái|bút chì; notebook|quyển|vở
machine: computer|chiếc|máy tính; phone|chiếc|điện thoại; camera|chiếc|máy ảnh; television|chiếc|ti vi; fan|cái|quạt
machine: fridge|cái|tủ lạnh; printer|cái|máy in; clock|cái|đồng hồ
vehicle: car|chiếc|ô tô; bicycle|chiếc|xe đạp; motorbike|chiếc|xe máy; truck|chiếc|xe tải; boat|chiếc|thuyền
vehicle: taxi|chiếc|tắc xi; bus/buses|chiếc|xe buýt
clothes: shirt|chiếc|áo sơ mi; coat|chiếc|áo khoác; dress/dresses|chiếc|váy; sweater|chiếc|áo len
clothes: raincoat|chiếc|áo mưa; uniform|bộ|đồng phục
hat: hat|chiếc|mũ; helmet|chiếc|mũ bảo hiểm
jewel: ring|chiếc|nhẫn; necklace|chiếc|vòng cổ; scarf/scarves|chiếc|khăn quàng; mask|chiếc|mặt nạ
reading writing: letter|bức|thư; novel|cuốn|tiểu thuyết; poem|bài|thơ; report|bản|báo cáo; article|bài|báo
reading writing: story/stories|câu|chuyện; postcard|tấm|bưu thiếp; diary/diaries|quyển|nhật ký
reading: book|quyển|sách; newspaper|tờ|báo; magazine|cuốn|tạp chí; dictionary/dictionaries|quyển|từ điển
reading: contract|bản|hợp đồng; map|tấm|bản đồ
show: film|bộ|phim; play|vở|kịch; match/matches|trận|đấu
sound: song|bài|hát; speech/speeches|bài|phát biểu; lecture|bài|giảng
picture: painting|bức|tranh; photo|bức|ảnh; statue|bức|tượng
instrument: piano|cây|đàn dương cầm; guitar|cây|đàn ghi ta; violin|cây|đàn vĩ cầm; drum|cái|trống
fruit: apple|quả|táo; orange|quả|cam; banana|quả|chuối; mango/mangoes|quả|xoài; watermelon|quả|dưa hấu
fruit: coconut|quả|dừa; tomato/tomatoes|quả|cà chua; egg|quả|trứng; pineapple|quả|dứa; lemon|quả|chanh
snack: cake|cái|bánh ngọt; biscuit|cái|bánh quy; ice cream/ice creams|cây|kem
plant: tree|cái|cây; flower|bông|hoa; rose|bông|hồng; lotus/lotuses|bông|sen
opening: door|cánh|cửa; window|cái|cửa sổ; gate|cái|cổng; drawer|cái|ngăn kéo
place: school||trường học; hospital||bệnh viện; market|khu|chợ; library/libraries||thư viện; park||công viên
place: museum||bảo tàng; restaurant||nhà hàng; hotel||khách sạn; station||nhà ga; airport||sân bay; bank||ngân hàng
place: office||văn phòng; factory/factories||nhà máy; shop||cửa hàng; cinema||rạp chiếu phim
place: temple|ngôi|chùa; village|ngôi|làng; city/cities||thành phố; town||thị trấn; beach/beaches||bãi biển
place: farm||trang trại; university/universities||trường đại học; zoo||sở thú; bakery/bakeries||tiệm bánh
room: house|ngôi|nhà; room|căn|phòng; kitchen|căn|bếp; garden|khu|vườn; flat|căn|hộ
nature: river|con|sông; lake|cái|hồ; mountain|ngọn|núi; forest|khu|rừng; hill|ngọn|đồi; bridge/bridges|cây|cầu
nature: road|con|đường; field|cánh|đồng
job: doctor||bác sĩ; teacher||giáo viên; nurse||y tá; engineer||kỹ sư; farmer||nông dân; worker||công nhân
job: driver||tài xế; singer||ca sĩ; writer||nhà văn; painter||họa sĩ; journalist||nhà báo; lawyer||luật sư
job: student||sinh viên; pupil||học sinh; policeman/policemen||cảnh sát; cook||đầu bếp; fisherman/fishermen||ngư dân
job: carpenter||thợ mộc; scientist||nhà khoa học; director||giám đốc
job: pilot||phi công; dentist||nha sĩ; gardener|người|làm vườn
job: waiter||bồi bàn
people: man/men|người|đàn ông; woman/women|người|phụ nữ; boy|cậu|bé; girl|cô|gái; child/children|đứa|trẻ
people: neighbour|người|hàng xóm; friend|người|bạn; guest|vị|khách; customer||khách hàng; tourist||du khách
people: stranger|người|lạ; soldier|người|lính; thief/thieves|tên|trộm
"""

# Bare nouns, always without article or plural.
MASS = """
food: rice|cơm; soup|súp; bread|bánh mì; meat|thịt; cheese|phô mai; porridge|cháo; sticky rice|xôi; fish|cá
food: fried rice|cơm rang; noodle soup|phở
drink: water|nước; coffee|cà phê; tea|trà; milk|sữa; beer|bia; orange juice|nước cam
sport: football|bóng đá; tennis|quần vợt; chess|cờ vua; badminton|cầu lông; basketball|bóng rổ
subject: history|lịch sử; mathematics|toán; physics|vật lý; chemistry|hóa học; geography|địa lý
subject: literature|văn học
language: English|tiếng Anh; French|tiếng Pháp; Japanese|tiếng Nhật; Chinese|tiếng Trung; German|tiếng Đức
"""

# Kin: Vietnamese puts the owner's pronoun right after the noun, without `của`. The last field: s(ingular) or p(lural).
KIN = """
kin: mother|mẹ|s; father|bố|s; grandmother|bà|s; grandfather|ông|s; older brother|anh trai|s
kin: younger brother|em trai|s
kin: older sister|chị gái|s; younger sister|em gái|s; son|con trai|s; daughter|con gái|s; wife|vợ|s; husband|chồng|s
kin: uncle|chú|s; aunt|dì|s; cousin|anh họ|s; nephew|cháu trai|s; niece|cháu gái|s
kin: parents|bố mẹ|p; grandparents|ông bà|p; children|các con|p
"""

# kinds of noun it describes: English[/comparative/superlative] | Vietnamese
ADJECTIVES = """
thing: new|mới; old|cũ; beautiful|đẹp; small|nhỏ; big|to; expensive|đắt; cheap|rẻ; strange|lạ; clean|sạch; dirty|bẩn
portable: heavy|nặng; light|nhẹ; useful|hữu ích; modern|hiện đại
colour: red|màu đỏ; blue|màu xanh dương; green|màu xanh lá; yellow|màu vàng; purple|màu tím; pink|màu hồng
colour fur: white|màu trắng; black|màu đen; brown|màu nâu
text: interesting|thú vị; boring|nhàm chán; long|dài; short|ngắn; famous|nổi tiếng; difficult|khó; funny|hài hước
text: sad|buồn
place: quiet|yên tĩnh; crowded|đông đúc; noisy|ồn ào; large|rộng; peaceful|yên bình; beautiful|đẹp; old|cũ
place: famous|nổi tiếng
place: small|nhỏ; clean|sạch
nature: dangerous|nguy hiểm; wild|hoang vu; beautiful|đẹp; large|rộng; peaceful|yên bình; small|nhỏ
food: delicious|ngon; sweet|ngọt; fresh|tươi; sour|chua; big|to; cheap|rẻ; small|nhỏ; expensive|đắt
plant: beautiful|đẹp; rare|quý hiếm; big|to; small|nhỏ; strange|lạ; cheap|rẻ; expensive|đắt
person: tall|cao; short|thấp; young|trẻ; old|già; kind|tốt bụng; clever|thông minh; strong|khỏe; lazy|lười biếng
person: hard-working|chăm chỉ; honest|trung thực; rich|giàu; poor|nghèo; friendly|thân thiện; polite|lịch sự
person: shy|nhút nhát
person: brave|dũng cảm; famous|nổi tiếng; patient|kiên nhẫn; thin|gầy; careful|cẩn thận
state: tired|mệt; happy|vui; sad|buồn; hungry|đói; thirsty|khát; busy|bận; ill|ốm; angry|tức giận; worried|lo lắng
state: frightened|sợ hãi; surprised|ngạc nhiên; sleepy|buồn ngủ; lonely|cô đơn; excited|hào hứng; nervous|hồi hộp
state: disappointed|thất vọng; proud|tự hào; bored|chán nản
animal: fat|béo; fast|nhanh; gentle|hiền lành; fierce|hung dữ; clever|thông minh; small|nhỏ; big|to; cute|dễ thương
animal: hungry|đói; old|già; lazy|lười biếng
material furniture: wooden|bằng gỗ; plastic|bằng nhựa; metal|bằng kim loại; glass|bằng kính
material clothes: leather|bằng da; silk|bằng lụa; cotton|bằng vải bông; woollen|bằng len
weather: hot|nóng; cold|lạnh; cool|mát; sunny|nắng; windy|lộng gió; cloudy|nhiều mây
"""

# Adjectives of one group are never said of the same noun together.
OPPOSITES = """
small big large; cheap expensive; new old young modern; clean dirty; quiet noisy crowded peaceful; heavy light
long short tall; interesting boring funny; rich poor; lazy hard-working; sweet sour; gentle fierce; sad funny
strong thin fat
"""

# Which blocks of adjectives fit which kind of noun.
FITS = {
    "animal": ("animal", "fur"),
    "furniture": ("thing", "colour"),
    "tool": ("thing", "portable", "colour"),
    "machine": ("thing", "portable", "colour"),
    "vehicle": ("thing", "colour"),
    "clothes": ("thing", "colour"),
    "hat": ("thing", "colour"),
    "jewel": ("thing", "colour"),
    "reading": ("text",),
    "show": ("text",),
    "sound": ("text",),
    "picture": ("thing",),
    "instrument": ("thing",),
    "fruit": ("food",),
    "snack": ("food",),
    "plant": ("plant", "colour"),
    "opening": ("thing", "colour"),
    "place": ("place",),
    "room": ("place",),
    "nature": ("nature",),
    "job": ("person",),
    "people": ("person",),
}

# kinds of object: base[/past/participle][+particle] | Vietnamese | passive: `được`, `bị`, or empty for none
TRANSITIVE = """
fruit snack food: eat/ate/eaten|ăn|bị
fruit snack: share|chia sẻ|; steal/stole/stolen|ăn trộm|bị
food: cook|nấu|được; order|gọi|được; try|ăn thử|; prepare|chuẩn bị|được
drink: drink/drank/drunk|uống|; pour|rót|
reading: read/read/read|đọc|được; borrow|mượn|; understand~/understood/understood|hiểu|
writing: write/wrote/written|viết|được; finish|hoàn thành|được; publish|xuất bản|được
reading sound: translate|dịch|được
reading show sound: recommend|giới thiệu|được; enjoy~|thưởng thức|
show: watch|xem|
sound: listen+to|nghe|; record|ghi âm|được
picture reading: look+at|ngắm|
picture plant animal: draw/drew/drawn|vẽ|được
plant animal: photograph|chụp ảnh|được
tool machine vehicle clothes hat jewel: buy/bought/bought|mua|được; sell/sold/sold|bán|được
tool machine vehicle clothes hat jewel: choose/chose/chosen|chọn|được
tool machine clothes hat jewel: lose~/lost/lost|làm mất|bị; find~/found/found|tìm thấy|được; look+for|tìm|; need~|cần|
tool clothes machine: carry|mang|được; hide/hid/hidden|giấu|bị
tool machine furniture: use|dùng|được; wipe|lau|được
clothes: wash|giặt|được
vehicle fruit: wash|rửa|được
tool furniture fruit snack: count|đếm|; bring/brought/brought|đem theo|; put/put/put+away|cất|được
machine vehicle: repair|sửa|được; break~/broke/broken|làm hỏng|bị; test|kiểm tra|được
vehicle: drive/drove/driven|lái|; rent|thuê|được; push|đẩy|bị
furniture opening vehicle: paint|sơn|được; damage~|làm hư|bị; touch|chạm vào|bị
furniture machine: move|di chuyển|được
clothes: wear/wore/worn|mặc|; sew/sewed/sewn|may|được
hat: wear/wore/worn|đội|
jewel: wear/wore/worn|đeo|
instrument: play|chơi|
sport: play|chơi|; love~|yêu thích|
subject language: study|học|; teach/taught/taught|dạy|được; know~/knew/known|biết|
language: speak/spoke/spoken|nói|
plant: water|tưới|được; plant|trồng|được; cut/cut/cut+down|chặt|bị
opening: open|mở|được; close|đóng|được; lock|khóa|được
animal: feed/fed/fed|cho _ ăn|; catch/caught/caught|bắt|bị; raise|nuôi|được; chase|đuổi theo|bị; frighten~|làm _ sợ|
place nature room: visit|tham quan|; leave/left/left|rời|; explore|khám phá|
room: clean|dọn|được; build/built/built|xây|được; decorate|trang trí|được; rent|thuê|được
person: meet/met/met|gặp|; help|giúp|được; invite|mời|được; thank|cảm ơn|; wait+for|chờ|; call|gọi|; miss~|nhớ|
person: love~|yêu|; trust~|tin|; admire~|ngưỡng mộ|; praise|khen|được; scold|mắng|bị; hug|ôm|được
person: follow|đi theo|; recognise~|nhận ra|; protect|bảo vệ|được; punish|phạt|bị; hate~|ghét|bị
"""

# base[/past/participle][+particle] | Vietnamese. In both blocks of verbs `~` marks a state, which nobody can be asked
# for, and `_` is the place of the object.
INTRANSITIVE = """
human: sleep/slept/slept|ngủ; laugh|cười; cry|khóc; swim/swam/swum|bơi; dance|nhảy múa; sing/sang/sung|hát
human: work|làm việc
human: rest|nghỉ ngơi; smile|mỉm cười; shout|hét; run/ran/run|chạy; study|học bài; cook|nấu ăn
human: go/went/gone+shopping|đi mua sắm; exercise|tập thể dục; read/read/read|đọc sách; dream|mơ
creature: sleep/slept/slept|ngủ; run/ran/run+away|chạy trốn; play|chơi đùa; eat/ate/eaten|ăn
creature: drink/drank/drunk|uống nước
creature: jump|nhảy; lie/lay/lain+down|nằm nghỉ; hide/hid/hidden|trốn; wait|chờ đợi; fight/fought/fought|đánh nhau
motion: go/went/gone+to|đi đến; come/came/come+to|đến; walk+to|đi bộ đến; travel+to|du lịch đến
motion: run/ran/run+to|chạy đến; move+to|chuyển đến; drive/drove/driven+to|lái xe đến; cycle+to|đạp xe đến
giving: give/gave/given|đưa cho _; send/sent/sent|gửi cho _; lend/lent/lent|cho _ mượn; show/showed/shown|cho _ xem
giving: hand|trao cho _; sell/sold/sold|bán cho _; offer|tặng _
liking: like~|thích; stop|ngừng; avoid|tránh; practise|luyện tập; consider|cân nhắc việc
liking: put/put/put+off|trì hoãn việc
seeing: see~/saw/seen|nhìn thấy; hear~/heard/heard|nghe thấy; watch|quan sát
asking: ask|nhờ; advise|khuyên; allow|cho phép; remind|nhắc; encourage|động viên; force|bắt; beg|xin
trying: want~|muốn; try|cố gắng; decide|quyết định; plan|dự định; agree|đồng ý; refuse|từ chối
trying: begin/began/begun|bắt đầu
trying: hope~|hy vọng; forget~/forgot/forgotten|quên; promise|hứa; continue|tiếp tục
saying: say/said/said|nói; think/thought/thought|nghĩ; hope|hy vọng; believe|tin; hear/heard/heard|nghe nói
saying: explain|giải thích; remember|nhớ; announce|thông báo; admit|thừa nhận
telling: tell/told/told|nói với; inform|báo cho; warn|cảnh báo; promise|hứa với; remind|nhắc
"""

# Adverbs and fixed phrases: English | Vietnamese
ADVERBS = """
manner: slowly|một cách chậm rãi; quickly|một cách nhanh chóng; carefully|một cách cẩn thận; quietly|một cách lặng lẽ
manner: happily|một cách vui vẻ; patiently|một cách kiên nhẫn; secretly|một cách bí mật; skilfully|một cách khéo léo
manner: gently|một cách nhẹ nhàng; calmly|một cách bình tĩnh
often: often|thường; always|luôn; sometimes|thỉnh thoảng; rarely|hiếm khi; never|không bao giờ; still|vẫn
often: also|cũng; only|chỉ
degree: very|rất; quite|khá; really|thật sự; extremely|vô cùng
past: yesterday|hôm qua; last night|tối qua; last week|tuần trước; last month|tháng trước; last year|năm ngoái
past: this morning|sáng nay; the day before yesterday|hôm kia; last summer|mùa hè năm ngoái
past: yesterday afternoon|chiều hôm qua
future: tomorrow|ngày mai; next week|tuần sau; next month|tháng sau; next year|năm sau; tonight|tối nay
future: soon|chẳng bao lâu nữa
future: the day after tomorrow|ngày kia; tomorrow morning|sáng mai; this weekend|cuối tuần này
future: next summer|mùa hè năm sau
habit: every day|hằng ngày; every morning|mỗi buổi sáng; every evening|mỗi buổi tối; every week|hằng tuần
habit: every year|hằng năm
habit: at night|ban đêm; in the afternoon|vào buổi chiều; at weekends|vào cuối tuần; in winter|vào mùa đông
habit: in spring|vào mùa xuân; in the morning|vào buổi sáng
now: now|bây giờ; at the moment|lúc này; today|hôm nay; this week|tuần này
spot: at home|ở nhà; abroad|ở nước ngoài; outside|ở bên ngoài; here|ở đây; over there|ở đằng kia
spot: by the sea|bên bờ biển
rank: first|thứ nhất; second|thứ hai; third|thứ ba; fourth|thứ tư; fifth|thứ năm; last|cuối cùng
"""

PREPOSITIONS = """
at: in|trong; near|gần; behind|phía sau; in front of|phía trước; next to|bên cạnh; opposite|đối diện
on: on|trên; under|dưới; behind|phía sau; next to|bên cạnh; near|gần
in: in|trong; near|gần; behind|phía sau; next to|bên cạnh
nature: near|gần; opposite|đối diện; next to|bên cạnh
"""

# Names are not counted as entries. Women, men, towns.
WOMEN = ["Lan", "Hoa", "Mai", "Linh", "Trang", "Nga", "Thu", "Anna", "Mary", "Helen"]
MEN = ["Nam", "Minh", "Huy", "Quang", "Khoa", "Phong", "Peter", "Tom", "David", "Paul"]
TOWNS = (
    "Hanoi|Hà Nội; Hue|Huế; Da Nang|Đà Nẵng; Can Tho|Cần Thơ; Hai Phong|Hải Phòng; Da Lat|Đà Lạt; Vinh|Vinh; "
    "Saigon|Sài Gòn; Japan|Nhật Bản; Thailand|Thái Lan; France|Pháp; Korea|Hàn Quốc; Paris|Paris; London|Luân Đôn"
)
NUMBERS = (
    "two|hai; three|ba; four|bốn; five|năm; six|sáu; seven|bảy; eight|tám; nine|chín; ten|mười; eleven|mười một; "
    "twelve|mười hai; fifteen|mười lăm; twenty|hai mươi; thirty|ba mươi; forty|bốn mươi; fifty|năm mươi"
)
WEEKDAYS = (
    "Monday|thứ Hai; Tuesday|thứ Ba; Wednesday|thứ Tư; Thursday|thứ Năm; Friday|thứ Sáu; Saturday|thứ Bảy; "
    "Sunday|Chủ nhật"
)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]

# Who is spoken to: English vocative | Vietnamese vocative | I | you | kin of both that would not be named.
ADDRESSEES = """
Grandma|bà ơi|cháu|bà|grandmother grandparents; Grandpa|ông ơi|cháu|ông|grandfather grandparents
Mum|mẹ ơi|con|mẹ|mother parents; Dad|bố ơi|con|bố|father parents; Uncle|chú ơi|cháu|chú|uncle
Auntie|cô ơi|cháu|cô|aunt; Teacher|thưa thầy|em|thầy|; Doctor|thưa bác sĩ|tôi|bác sĩ|; Sir|thưa ông|tôi|ông|grandfather
Madam|thưa bà|tôi|bà|grandmother
"""
